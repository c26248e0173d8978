#include "select/select_part.hpp"

#include <algorithm>
#include <limits>
#include <span>

#include "core/checked.hpp"
#include "select/keep_first.hpp"
#include "select/threshold.hpp"
#include "select/top_k.hpp"

namespace nearfield {
namespace {

// Up to this many values in all, or for each of the k, the exact threshold is found before anything
// is kept: as fast as filtering at 65 to 100 for each of the k, on rows of 1,000 to 10^6 floats, by
// AVX-512 on one thread of a Xeon with AMX, busy with other work.
constexpr std::int64_t kFew = 512;
constexpr std::int64_t kFewPerK = 64;
// Values between two looks at the threshold: few enough that their positions stay in L1.
constexpr std::int64_t kStep = 1 << 12;
static_assert(kStep % kMostBlock == 0);
// Of `Cut`, which copies what it keeps of a step: that stays in L1 too.
constexpr std::int64_t kCutStep = 1 << 10;
// A chunk has four groups for each of the k, so that the k-th of their firsts lets only few more
// than k values pass. At least so many bytes: few rows have a second chunk, and it is still in L2
// when the groups in time are looked at again.
constexpr std::int64_t kChunkPerK = 4 * kGroup;
static_assert(kChunkPerK <= kFewPerK);
constexpr std::int64_t kLeastChunkBytes = 1 << 19;
// A chunk of which more are kept for each of the k, if only for a time, is like sorted: all values
// of a group are in time. It takes less time to find its exact threshold.
constexpr std::int64_t kMostKeptPerK = 2;
constexpr std::int64_t kMoreKept = 32;  // so that a few values in time do not count as sorted

constexpr std::int64_t kPositionBytes = sizeof(std::uint32_t);

std::int64_t chunk_of(const PartShape& shape) {
  const std::int64_t all = round_up(shape.count, kStep);
  const std::int64_t least = kLeastChunkBytes / row_bytes(shape.dtype, 1);
  return std::min(all, round_up(std::max(least, kChunkPerK * shape.k), kStep));
}

std::int64_t step_of(const PartShape& shape, std::int64_t most) {
  return std::min(most, shape.count);
}

template <class T>
double key_of(const PartShape& shape, T value) {
  return static_cast<double>(shape.largest ? -value : value);
}

template <class T>
Neighbor pair_of(const PartShape& shape, const Part& part, std::int64_t i) {
  return {key_of(shape, reinterpret_cast<const T*>(part.values)[i]), part.id(i)};
}

template <class T>
class Filter : public PartSelector {
 public:
  Filter(const PartShape& shape, const ValueKernels<T>& kernels)
      : shape_(shape),
        kernels_(kernels),
        thresholds_(kernels, shape.largest),
        chunk_(chunk_of(shape)),
        firsts_(static_cast<std::size_t>(chunk_ / kGroup)),
        positions_(static_cast<std::size_t>(step_of(shape, kStep))) {}

  static PartBytes bytes(const PartShape& shape) {
    const auto firsts = chunk_of(shape) / kGroup * static_cast<std::int64_t>(sizeof(T));
    return {TopK<Neighbor>::most_held(shape.k) * kNeighborBytes,
            firsts + step_of(shape, kStep) * kPositionBytes +
                ThresholdFinder<T>::bytes(chunk_of(shape))};
  }

  std::vector<Neighbor> select(const Part& part, Pace& pace) override {
    TopK<Neighbor> best(shape_.k);
    for (std::int64_t begin = 0; begin < part.count; begin += chunk_) {
      best.settle();
      const std::int64_t end = std::min(begin + chunk_, part.count);
      select_from_chunk(part, begin, end, best, pace);
    }
    return best.take();
  }

 private:
  T earlier(T a, T b) const { return shape_.largest ? std::max(a, b) : std::min(a, b); }

  // Columns come in order: without ids, what equals the k-th comes too late.
  bool ties_are_late(const TopK<Neighbor>& best) const { return best.full() && !shape_.has_ids; }

  bool nothing_in_time(const TopK<Neighbor>& best) const {
    return ties_are_late(best) && best.threshold() == -std::numeric_limits<double>::infinity();
  }

  T last_in_time(const TopK<Neighbor>& best) const {
    const double key = best.threshold();
    const T last = static_cast<T>(shape_.largest ? -key : key);  // exact: a value, or an infinity
    return ties_are_late(best) ? thresholds_.before(last) : last;
  }

  void select_from_chunk(const Part& part, std::int64_t begin, std::int64_t end,
                         TopK<Neighbor>& best, Pace& pace) {
    T last = chunk_threshold(part, begin, end, last_in_time(best), pace);
    std::int64_t room = kMostKeptPerK * shape_.k + kMoreKept;
    for (std::int64_t step = begin; step < end; step += kStep) {
      const std::int64_t step_end = std::min(step + kStep, end);
      if (!nothing_in_time(best)) {
        const T* const firsts = firsts_.data() + (step - begin) / kGroup;
        room -= offer(part, step, step_end, earlier(last, last_in_time(best)), firsts, best);
      }
      pace.advance(step_end - step);
      const bool only_ties = last_in_time(best) == last;
      if (room < 0 && !only_ties && step_end < end) {
        last = earlier(last, exact_threshold(part, begin, end, pace));
        room = end - begin;  // once a chunk
      }
    }
  }

  T exact_threshold(const Part& part, std::int64_t begin, std::int64_t end, Pace& pace) {
    const T* const values = reinterpret_cast<const T*>(part.values) + begin;
    return thresholds_.exact({values, static_cast<std::size_t>(end - begin)}, shape_.k, pace).last;
  }

  // Finds the firsts of all groups of a chunk. k groups whose firsts are in time have k values that
  // are, so that input in which everything is before the threshold lowers it without being kept.
  T chunk_threshold(const Part& part, std::int64_t begin, std::int64_t end, T last, Pace& pace) {
    const T* const values = reinterpret_cast<const T*>(part.values);
    std::int64_t groups = 0;
    for (std::int64_t piece = begin; piece < end; piece += kValuesPerCheck) {
      const std::int64_t size = std::min(kValuesPerCheck, end - piece);
      groups += kernels_.group_firsts(values + piece, size, firsts_.data() + groups);
      pace.pass(size);
    }
    const std::span<const T> firsts(firsts_.data(), static_cast<std::size_t>(groups));
    const std::int64_t in_time = kernels_.count(firsts.data(), groups, last);
    const bool many = in_time > 2 * shape_.k + kGroup;
    return many ? thresholds_.near(firsts, shape_.k) : last;
  }

  // Returns how many were kept.
  std::int64_t offer(const Part& part, std::int64_t begin, std::int64_t end, T last,
                     const T* firsts, TopK<Neighbor>& best) {
    const T* const values = reinterpret_cast<const T*>(part.values) + begin;
    const std::int64_t found = kernels_.find(values, end - begin, last, firsts, positions_.data());
    std::int64_t kept = 0;
    for (std::int64_t i = 0; i < found; ++i) {
      const std::int64_t position = begin + positions_[static_cast<std::size_t>(i)];
      kept += best.offer(pair_of<T>(shape_, part, position));
    }
    return kept;
  }

  const PartShape shape_;
  const ValueKernels<T>& kernels_;
  ThresholdFinder<T> thresholds_;
  const std::int64_t chunk_;  // values
  std::vector<T> firsts_;
  std::vector<std::uint32_t> positions_;
};

// The id of a value that equals the k-th.
struct Tie {
  std::int64_t key;

  friend bool operator<(const Tie& a, const Tie& b) { return a.key < b.key; }
};

template <class T>
class Cut : public PartSelector {
 public:
  Cut(const PartShape& shape, const ValueKernels<T>& kernels)
      : shape_(shape),
        kernels_(kernels),
        thresholds_(kernels, shape.largest),
        positions_(static_cast<std::size_t>(step_of(shape, kCutStep))),
        kept_(static_cast<std::size_t>(step_of(shape, kCutStep))),
        aside_(static_cast<std::size_t>(step_of(shape, kCutStep))) {}

  static PartBytes bytes(const PartShape& shape) {
    const std::int64_t ties = shape.has_ids ? most_ties(shape) : 0;
    return {std::min(shape.k, shape.count) * kNeighborBytes,
            ThresholdFinder<T>::bytes(shape.count) +
                step_of(shape, kCutStep) * (kPositionBytes + kNeighborBytes + kTieBytes) +
                ties * kTieBytes};
  }

  std::vector<Neighbor> select(const Part& part, Pace& pace) override {
    const T* const values = reinterpret_cast<const T*>(part.values);
    const Threshold<T> threshold =
        thresholds_.exact({values, static_cast<std::size_t>(part.count)}, shape_.k, pace);
    std::vector<Neighbor> found;
    found.reserve(static_cast<std::size_t>(std::min(shape_.k, part.count)));
    std::int64_t in_order = shape_.has_ids ? 0 : threshold.ties;
    for (std::int64_t begin = 0; begin < part.count; begin += kCutStep) {
      const std::int64_t size = std::min(kCutStep, part.count - begin);
      if (std::ssize(found) < shape_.k) keep(part, begin, size, threshold, in_order, found);
      pace.advance(size);
    }
    append_ties(threshold, found);
    return found;
  }

 private:
  static constexpr std::int64_t kTieBytes = sizeof(Tie);

  // Put aside, before those that come too late are dropped.
  static std::int64_t most_ties(const PartShape& shape) {
    return std::min(shape.count, 2 * shape.k + step_of(shape, kCutStep));
  }

  // What comes before the k-th value. Of those that equal it the next `in_order`, which falls, or
  // where ids decide none: they are put aside. No branch depends on a value, since any that equal
  // it in no order would be mispredicted half the time.
  void keep(const Part& part, std::int64_t begin, std::int64_t size, const Threshold<T>& threshold,
            std::int64_t& in_order, std::vector<Neighbor>& found) {
    const T* const values = reinterpret_cast<const T*>(part.values) + begin;
    const std::int64_t count =
        kernels_.find(values, size, threshold.last, nullptr, positions_.data());
    const std::span positions(positions_.data(), static_cast<std::size_t>(count));
    const bool all = threshold.ties == Threshold<T>::kAllTies;
    const double tied =
        all ? std::numeric_limits<double>::quiet_NaN() : key_of(shape_, threshold.last);
    Neighbor* kept = kept_.data();
    if (shape_.has_ids && !all) {
      Tie* aside = aside_.data();
      for (const std::uint32_t position : positions) {
        const Neighbor pair = pair_of<T>(shape_, part, begin + position);
        const bool tie = pair.key >= tied;
        *kept = pair;
        kept += !tie;
        *aside = {pair.id};
        aside += tie;
      }
      put_aside({aside_.data(), aside}, threshold.ties);
    } else {
      std::int64_t left = in_order;
      for (const std::uint32_t position : positions) {
        const Neighbor pair = pair_of<T>(shape_, part, begin + position);
        const bool tie = pair.key >= tied;
        *kept = pair;
        kept += !tie | (left > 0);
        left -= tie;
      }
      in_order = left;
    }
    found.insert(found.end(), kept_.data(), kept);
  }

  void put_aside(std::span<const Tie> some, std::int64_t wanted) {
    if (some.empty()) return;
    ties_.reserve(static_cast<std::size_t>(most_ties(shape_)));
    if (std::ssize(ties_) + std::ssize(some) > most_ties(shape_)) keep_first(ties_, wanted);
    ties_.insert(ties_.end(), some.begin(), some.end());
  }

  // Those with the smaller ids.
  void append_ties(const Threshold<T>& threshold, std::vector<Neighbor>& found) {
    keep_first(ties_, threshold.ties);
    for (const Tie& tie : ties_) found.push_back({key_of(shape_, threshold.last), tie.key});
    ties_.clear();
  }

  const PartShape shape_;
  const ValueKernels<T>& kernels_;
  ThresholdFinder<T> thresholds_;
  std::vector<std::uint32_t> positions_;  // of a step, as the next two
  std::vector<Neighbor> kept_;
  std::vector<Tie> aside_;
  std::vector<Tie> ties_;  // of the part
};

template <class T>
std::unique_ptr<PartSelector> make(const PartShape& shape, const SelectKernels& kernels) {
  const ValueKernels<T>& of_type = kernels.of<T>(shape.largest);
  if (filters(shape)) return std::make_unique<Filter<T>>(shape, of_type);
  return std::make_unique<Cut<T>>(shape, of_type);
}

template <class T>
PartBytes bytes_of(const PartShape& shape) {
  return filters(shape) ? Filter<T>::bytes(shape) : Cut<T>::bytes(shape);
}

}  // namespace

bool filters(const PartShape& shape) {
  return shape.count > kFew && shape.count / kFewPerK > shape.k;
}

PartBytes part_bytes(const PartShape& shape) {
  return shape.dtype == DType::f32 ? bytes_of<float>(shape) : bytes_of<double>(shape);
}

std::unique_ptr<PartSelector> make_part_selector(const PartShape& shape,
                                                 const SelectKernels& kernels) {
  return shape.dtype == DType::f32 ? make<float>(shape, kernels) : make<double>(shape, kernels);
}

}  // namespace nearfield
