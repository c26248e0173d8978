#include "select/threshold.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "core/make_room.hpp"

namespace nearfield {
namespace {

// Below this all values stay in L1 and L2, and halving over all of them takes less time than a
// sample.
constexpr std::int64_t kSampleFrom = 1 << 14;
constexpr std::int64_t kSample = 1 << 11;
// Standard deviations by which the k-th of all may lie off its place in the sample: three rows of a
// thousand fall out, and 7 % of the values fall in.
constexpr double kDeviations = 3;
// That part of the values may fall into the range.
constexpr std::int64_t kInRange = 8;
// Handed to a kernel at once, which may copy as many.
constexpr std::int64_t kKernelStep = 1 << 12;
static_assert(kSample <= kKernelStep);

std::int64_t room_in_range(std::int64_t count) { return count / kInRange + kKernelStep; }

}  // namespace

template <class T>
typename ThresholdFinder<T>::Ordinal ThresholdFinder<T>::ordinal(T key) {
  const auto bits = std::bit_cast<Ordinal>(key);
  return bits < 0 ? bits ^ std::numeric_limits<Ordinal>::max() : bits;
}

template <class T>
T ThresholdFinder<T>::at(Ordinal ordinal) const {
  const Ordinal bits = ordinal < 0 ? ordinal ^ std::numeric_limits<Ordinal>::max() : ordinal;
  const T key = std::bit_cast<T>(bits);
  return largest_ ? -key : key;
}

template <class T>
T ThresholdFinder<T>::before(T value) const {
  return std::nextafter(value, -end());
}

template <class T>
typename ThresholdFinder<T>::Range ThresholdFinder<T>::everything() const {
  const T infinity = std::numeric_limits<T>::infinity();
  return {ordinal(-infinity), ordinal(infinity), 0};
}

template <class T>
template <class Count>
Threshold<T> ThresholdFinder<T>::bisect(Range range, std::int64_t k, std::int64_t most,
                                        const Count& count) const {
  while (range.first < range.last) {
    const Ordinal middle = std::midpoint(range.first, range.last);
    const std::int64_t found = count(at(middle));
    if (found < k) {
      range.first = static_cast<Ordinal>(middle + 1);
      range.before = found;
    } else if (found <= most) {
      return {at(middle), Threshold<T>::kAllTies};
    } else {
      range.last = middle;
    }
  }
  return {at(range.last), k - range.before};
}

template <class T>
T ThresholdFinder<T>::near(std::span<const T> values, std::int64_t k) const {
  const auto in_time = [&](T last) {
    return kernels_.count(values.data(), std::ssize(values), last);
  };
  return bisect(everything(), k, k + k / 16 + 4, in_time).last;
}

template <class T>
Threshold<T> ThresholdFinder<T>::exact(std::span<const T> values, std::int64_t k, Pace& pace) {
  if (std::ssize(values) <= k) return {end(), Threshold<T>::kAllTies};
  if (std::ssize(values) >= kSampleFrom) {
    return narrow(values, k, sampled_range(values, k), pace);
  }
  // Of k values and NaN the halving would say the same after all its steps.
  if (count(values, end(), pace) <= k) return {end(), Threshold<T>::kAllTies};
  return bisect(everything(), k, k, [&](T last) { return count(values, last, pace); });
}

template <class T>
std::int64_t ThresholdFinder<T>::bytes(std::int64_t count) {
  const std::int64_t values = count < kSampleFrom ? 0 : room_in_range(count);
  return values * static_cast<std::int64_t>(sizeof(T));
}

template <class T>
std::int64_t ThresholdFinder<T>::count(std::span<const T> values, T last, Pace& pace) const {
  std::int64_t found = 0;
  for (std::int64_t begin = 0; begin < std::ssize(values); begin += kValuesPerCheck) {
    const std::int64_t piece = std::min(kValuesPerCheck, std::ssize(values) - begin);
    found += kernels_.count(values.data() + begin, piece, last);
    pace.pass(piece);
  }
  return found;
}

// One value of each of as many equal stretches, at places that the golden ratio scatters, so that
// neither sorted nor periodic input misleads.
template <class T>
void ThresholdFinder<T>::take_sample(std::span<const T> values) {
  constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;  // of 2^64
  make_room(scratch_, static_cast<std::size_t>(room_in_range(std::ssize(values))));
  const std::uint64_t stretch = values.size() / kSample;
  for (std::uint64_t i = 0; i < kSample; ++i) {
    scratch_[i] = values[i * stretch + (i * kGoldenRatio >> 11) % stretch];
  }
}

template <class T>
typename ThresholdFinder<T>::Range ThresholdFinder<T>::sampled_range(std::span<const T> values,
                                                                     std::int64_t k) {
  take_sample(values);
  const double part = static_cast<double>(k) / static_cast<double>(std::ssize(values));
  const double place = part * kSample;
  const double margin = kDeviations * std::sqrt(place * std::max(1 - part, 0.0)) + 4;
  const auto in_time = [&](T last) { return kernels_.count(scratch_.data(), kSample, last); };
  const auto sampled = [&](double rank) {
    const auto nearest = static_cast<std::int64_t>(rank);
    return ordinal_of(bisect(everything(), nearest, nearest, in_time).last);
  };
  Range range = everything();
  if (place - margin >= 1) range.first = sampled(place - margin);
  if (place + margin <= kSample) range.last = sampled(place + margin);
  return range;
}

// What is in the range is copied, and what of it comes first is counted.
template <class T>
typename ThresholdFinder<T>::Copied ThresholdFinder<T>::copy(std::span<const T> values, T after,
                                                             T last, Pace& pace) {
  Copied result;
  for (std::int64_t begin = 0; begin < std::ssize(values); begin += kKernelStep) {
    const T* const step = values.data() + begin;
    const std::int64_t size = std::min(kKernelStep, std::ssize(values) - begin);
    result.complete = result.complete && result.in_range + size <= std::ssize(scratch_);
    if (result.complete) {
      result.in_range += kernels_.copy_between(step, size, after, last,
                                               scratch_.data() + result.in_range, &result.before);
    } else {
      const std::int64_t skipped = kernels_.count(step, size, after);
      result.before += skipped;
      result.in_range += kernels_.count(step, size, last) - skipped;
    }
    pace.pass(size);
  }
  return result;
}

template <class T>
Threshold<T> ThresholdFinder<T>::narrow(std::span<const T> values, std::int64_t k, Range guess,
                                        Pace& pace) {
  const T after = before(at(guess.first));
  const Copied copied = copy(values, after, at(guess.last), pace);
  const std::int64_t in_time = copied.before + copied.in_range;
  const auto of_all = [&](Range range) {
    return bisect(range, k, k, [&](T last) { return count(values, last, pace); });
  };
  if (copied.before >= k) return of_all({everything().first, ordinal_of(after), 0});
  if (in_time < k) {
    if (guess.last == everything().last) return {end(), Threshold<T>::kAllTies};
    return of_all({static_cast<Ordinal>(guess.last + 1), everything().last, in_time});
  }
  if (!copied.complete) {
    // So many in range are mostly a few values, and the k-th is where the sample has its ends.
    const std::int64_t to_first = count(values, at(guess.first), pace);
    if (to_first >= k) return {at(guess.first), k - copied.before};
    const std::int64_t to_last = count(values, before(at(guess.last)), pace);
    if (to_last < k) return {at(guess.last), k - to_last};
    return of_all({static_cast<Ordinal>(guess.first + 1), guess.last, to_first});
  }
  const std::span<const T> between(scratch_.data(), static_cast<std::size_t>(copied.in_range));
  return bisect({guess.first, guess.last, 0}, k - copied.before, k - copied.before,
                [&](T last) { return count(between, last, pace); });
}

template class ThresholdFinder<float>;
template class ThresholdFinder<double>;

}  // namespace nearfield
