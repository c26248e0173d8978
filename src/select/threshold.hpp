// The value up to which exactly k values come, found without sorting or moving them.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "select/pace.hpp"
#include "select/value_kernels.hpp"

namespace nearfield {

// The first k of some values are those before `last`, and `ties` of those that equal it.
template <class T>
struct Threshold {
  static constexpr std::int64_t kAllTies = std::numeric_limits<std::int64_t>::max();

  T last;
  std::int64_t ties;
};

template <class T>
class ThresholdFinder {
 public:
  ThresholdFinder(const ValueKernels<T>& kernels, bool largest)
      : kernels_(kernels), largest_(largest) {}

  // What comes last of all.
  T end() const { return at(ordinal(std::numeric_limits<T>::infinity())); }

  // The value right before: those that do not come after it come before `value`.
  T before(T value) const;

  // One up to which at least k of the values come, and few more unless they are ties: at most
  // k/16 + 4. `end()` if there are fewer. k at least 1.
  T near(std::span<const T> values, std::int64_t k) const;

  // k at least 1. Reads long input twice, and where a sample misleads it at most once more for
  // each bit of a value.
  Threshold<T> exact(std::span<const T> values, std::int64_t k, Pace& pace);

  // Bytes that exact() holds for `count` values.
  static std::int64_t bytes(std::int64_t count);

 private:
  // Whole numbers in the order of keys, which are the values, negated for `largest`. -0 has a
  // number of its own, which does no harm: the kernels say the same of it as of 0.
  using Ordinal = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

  // Where the k-th value is.
  struct Range {
    Ordinal first;
    Ordinal last;         // it does not come after, if there are k
    std::int64_t before;  // so many come before `first`, fewer than k
  };

  struct Copied {
    std::int64_t before = 0;    // do not come after `after`
    std::int64_t in_range = 0;  // come after it, and are in time
    bool complete = true;       // there was room for them
  };

  static Ordinal ordinal(T key);
  Ordinal ordinal_of(T value) const { return ordinal(largest_ ? -value : value); }
  T at(Ordinal ordinal) const;
  Range everything() const;

  // Halves the range until it has one value, or one up to which k to most values come.
  template <class Count>
  Threshold<T> bisect(Range range, std::int64_t k, std::int64_t most, const Count& count) const;

  std::int64_t count(std::span<const T> values, T last, Pace& pace) const;
  void take_sample(std::span<const T> values);
  Range sampled_range(std::span<const T> values, std::int64_t k);
  Copied copy(std::span<const T> values, T after, T last, Pace& pace);
  Threshold<T> narrow(std::span<const T> values, std::int64_t k, Range guess, Pace& pace);

  const ValueKernels<T>& kernels_;
  bool largest_;
  std::vector<T> scratch_;  // a sample; then the values in its range
};

}  // namespace nearfield
