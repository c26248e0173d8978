// Matches of many pairs of images.
#include <nearfield/match_pairs.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "results.hpp"
#include "rows.hpp"
#include "run.hpp"

namespace nearfield::python {
namespace {

using PairArray = nb::ndarray<const std::int64_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;

// Arrays and files, which Python has seen to be of one type and width.
class RowsFeatures final : public ImageFeatures {
 public:
  explicit RowsFeatures(const std::vector<const Rows*>& images) : images_(images) {}

  std::int64_t images() const override { return static_cast<std::int64_t>(images_.size()); }
  DType dtype() const override { return source(0).dtype(); }
  std::int64_t cols() const override { return source(0).cols(); }
  std::int64_t rows(std::int64_t image) const override { return source(image).rows(); }
  std::optional<MatrixView> in_memory(std::int64_t image) const override {
    return source(image).in_memory();
  }
  Matrix read(std::int64_t image) const override { return read_all(source(image)); }

 private:
  const RowSource& source(std::int64_t image) const {
    return images_[static_cast<std::size_t>(image)]->source();
  }

  const std::vector<const Rows*>& images_;
};

// From the thread that matches to the caller's, where Python takes them: what writes to a database
// may belong to that thread.
class Handover {
 public:
  Handover(nb::callable take, const std::optional<std::int64_t>& limit)
      : take_(std::move(take)),
        most_bytes_(limit ? std::min(*limit / 8, kMostBytes) : kMostBytes) {}

  std::int64_t most_bytes() const { return most_bytes_; }

  // Waits where Python is slower than the matching.
  void hand_over(std::int64_t pair, const Pairs& matches, const CancelToken& cancel) {
    const std::int64_t bytes = kBytesOfAPair + std::ssize(matches.first) * kBytesOfAMatch;
    while (waiting_bytes() + bytes > most_bytes_ && waiting_bytes() > 0 && !cancel.cancelled()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const std::scoped_lock lock(mutex_);
    waiting_.emplace_back(pair, matches);
    bytes_ += bytes;
  }

  // Needs the GIL.
  void take() {
    for (auto& [pair, matches] : all_waiting()) {
      take_(pair, to_python(std::move(matches)));
    }
  }

 private:
  static constexpr std::int64_t kMostBytes = std::int64_t{1} << 25;
  static constexpr std::int64_t kBytesOfAPair = 1024;  // with its plan and statistics
  static constexpr std::int64_t kBytesOfAMatch = 28;

  std::int64_t waiting_bytes() {
    const std::scoped_lock lock(mutex_);
    return bytes_;
  }

  std::vector<std::pair<std::int64_t, Pairs>> all_waiting() {
    const std::scoped_lock lock(mutex_);
    bytes_ = 0;
    return std::exchange(waiting_, {});
  }

  nb::callable take_;
  const std::int64_t most_bytes_;
  std::mutex mutex_;
  std::vector<std::pair<std::int64_t, Pairs>> waiting_;
  std::int64_t bytes_ = 0;
};

std::vector<ImagePair> copied(const PairArray& given) {
  std::vector<ImagePair> pairs(given.shape(0));
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    pairs[i] = {given.data()[2 * i], given.data()[2 * i + 1]};
  }
  return pairs;
}

nb::dict run_match_pairs(const std::vector<const Rows*>& images, const PairArray& given,
                         const MatchOptions& options, const Run& run, nb::callable take) {
  const RowsFeatures features(images);
  const std::vector<ImagePair> pairs = copied(given);
  Handover handover(std::move(take), run.context().memory_limit);
  std::exception_ptr refused;  // what Python raised, with the GIL to the end
  const auto call = [&](const Context& whole) {
    Context context = whole;  // but for what waits for Python
    if (context.memory_limit) *context.memory_limit -= handover.most_bytes();
    const auto hand_over = [&](std::int64_t pair, const Pairs& matches) {
      handover.hand_over(pair, matches, context.cancel);
    };
    return match_pairs(features, pairs, hand_over, options, context);
  };
  const auto take_some = [&](const Context& context) {
    const nb::gil_scoped_acquire acquired;
    try {
      if (!refused) handover.take();
    } catch (...) {
      refused = std::current_exception();
      context.cancel.cancel();
    }
  };
  MatchPairsStats stats;
  try {
    stats = run_call(run, call, take_some);
  } catch (...) {
    if (refused) std::rethrow_exception(refused);
    throw;
  }
  if (refused) std::rethrow_exception(refused);
  handover.take();
  nb::dict fields;
  fields["pairs"] = stats.pairs;
  fields["matches"] = stats.matches;
  fields["images_read"] = stats.images_read;
  fields["most_bytes_kept"] = stats.most_bytes_kept;
  fields["seconds"] = stats.seconds;
  fields["reading_seconds"] = stats.reading_seconds;
  fields["taking_seconds"] = stats.taking_seconds;
  return fields;
}

nb::object to_python(const std::vector<ImagePair>& pairs) {
  std::vector<std::int64_t> numbers;
  numbers.reserve(2 * pairs.size());
  for (const auto [first, second] : pairs) {
    numbers.push_back(first);
    numbers.push_back(second);
  }
  return take(std::move(numbers), {static_cast<std::int64_t>(pairs.size()), 2});
}

}  // namespace

void bind_match_pairs(nb::module_& module) {
  module.def("match_pairs", run_match_pairs);
  module.def("exhaustive_pairs",
             [](std::int64_t images) { return to_python(exhaustive_pairs(images)); });
  module.def("sequential_pairs", [](std::int64_t images, std::int64_t overlap) {
    return to_python(sequential_pairs(images, overlap));
  });
}

}  // namespace nearfield::python
