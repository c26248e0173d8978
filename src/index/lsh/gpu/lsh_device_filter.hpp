// What a search of lsh finds on a device, as candidates with their keys.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nearfield/context.hpp>

#include "core/fail.hpp"
#include "core/make_room.hpp"
#include "device/gpu/gpu.hpp"
#include "distance/gpu/pair_list.hpp"
#include "distance/gpu/round_step.hpp"
#include "distance/settled_key.hpp"
#include "filter/filter.hpp"
#include "filter/filter_maker.hpp"
#include "filter/gpu/pairs_by_query.hpp"
#include "index/lsh/gpu/lsh_products.hpp"
#include "index/lsh/lsh_device.hpp"
#include "index/lsh/lsh_tables.hpp"

namespace nearfield {

// Of a block. More would not fill a device better: a bucket of a query is a block of threads.
inline constexpr std::int64_t kLshBlockQueries = 64;
// With tiles, and one more: of all of them.
inline constexpr std::int64_t kLshTileMarks = kLshTileQueries + 1;
inline constexpr std::int64_t kMostLshPairs = 1 << 18;  // found of a block at a time

inline std::int64_t lsh_device_limit(const gpu::Device& device, const Context& context) {
  return context.device_memory_limit.value_or(device.facts().memory);
}

// What products need to know of the rows of a run that stay on a device, found by the first search.
struct LshLargest {
  float magnitude;
};
inline float kept_largest(const LshRun& run, gpu::Device& device, gpu::Queue& queue,
                          const gpu::ArrayTile& rows, DType dtype) {
  const auto kept = run.copies.of<LshLargest>(&device, [&] {
    return std::make_shared<const LshLargest>(LshLargest{largest_magnitude(
        device, queue, rows, dtype, run.rows.size(), run.functions.directions.cols())});
  });
  return kept->magnitude;
}

// Rows of which `most` are found, if of `rows` there were `found`. Where they are spread evenly, a
// tenth less than fit.
inline std::int64_t rows_that_fit(std::int64_t rows, std::int64_t found, std::int64_t most) {
  const double fit =
      0.9 * static_cast<double>(most) / static_cast<double>(std::max<std::int64_t>(found, 1));
  return std::max<std::int64_t>(static_cast<std::int64_t>(fit * static_cast<double>(rows)), 1);
}

// Who lists the rows of buckets, and makes their keys: of all pairs, or of those that products let
// through.
class LshPairFinder {
 public:
  virtual ~LshPairFinder() = default;

  // Of queries of the batch with the first rows of these: as many as there is room for what is
  // found. Says how many rows these are. places: a pair in 64 bits, both from the first of theirs.
  std::int64_t find(Range queries, Range rows, std::span<const double> thresholds,
                    std::vector<std::uint64_t>& places, std::vector<double>& keys) {
    take_thresholds(queries, thresholds);
    std::optional<std::int64_t> most;  // that may be listed
    if (last_.is_before(queries, rows)) {
      most = most_listed_next(queries.size());
      rows.end =
          std::min(rows.end, rows.begin + rows_that_fit(last_.rows.size(), last_.listed, *most));
    }
    for (;;) {
      const std::int64_t listed = list(queries, rows, products_ ? products_->met() : *list_);
      if (!most) most = most_listed_first(queries.size(), listed);
      const bool fits = listed <= *most;
      const bool compares = products_ && fits && listed > 0;
      const std::int64_t found = compares ? close(queries, rows, listed) : listed;
      if (fits && found <= list_->most) {
        last_ = {queries.begin, rows, listed, found, lack_threshold()};
        make_room(places, static_cast<std::size_t>(found));
        make_room(keys, static_cast<std::size_t>(found));
        if (found > 0) read_found(queries, rows, places, keys);
        return rows.size();
      }
      rows.end = rows.begin + (fits ? rows_that_fit(rows.size(), found, list_->most)
                                    : rows_that_fit(rows.size(), listed, *most));
    }
  }
  bool is_finite(std::int64_t query) const { return finite_[static_cast<std::size_t>(query)]; }

 protected:
  // What list() has left: of each query a bit for each row, whether it has met it.
  struct Marked {
    const gpu::Buffer& marks;
    std::int64_t words;      // of 32 bits, of a query
    std::int64_t first_row;  // on the device
  };

  // Lists pairs, or with products each row once. How many there are, also without room for them.
  virtual std::uint32_t list(Range queries, Range rows, const PlaceList& to) = 0;
  virtual Marked marked() const = 0;
  // Of what is found.
  virtual void make_keys(Range queries, Range rows) = 0;
  virtual gpu::Queue& queue() = 0;

  // wrong: how much buckets hold that is not among the rows of the run.
  std::uint32_t read_listed(const PlaceList& list, const gpu::Buffer& wrong, std::int64_t rows) {
    std::uint32_t listed = 0;
    std::uint32_t wrong_rows = 0;
    const gpu::WaitAtEnd wait(queue());
    queue().read(*list.count, &listed);
    queue().read(wrong, &wrong_rows);
    queue().wait();
    if (wrong_rows != 0) {
      fail(ErrorCode::corrupt_file,
           "buckets hold {} rows that are not among the {} there are: build the index again",
           wrong_rows, rows);
    }
    return listed;
  }

  std::optional<PairList> list_;
  std::optional<LshProducts> products_;  // with tiles
  std::vector<bool> finite_;             // of the queries of the batch

 private:
  // What was answered last: of it the next rows of the block are estimated, so that they need not
  // all be listed to find out how many fit.
  struct Answered {
    std::int64_t first_query = -1;
    Range rows;
    std::int64_t listed = 0;
    std::int64_t found = 0;
    bool lacked_threshold = false;

    bool is_before(Range queries, Range next) const {
      return listed > 0 && first_query == queries.begin && rows.end == next.begin;
    }
  };

  // A query that is not finite finds nothing.
  void take_thresholds(Range queries, std::span<const double> thresholds) {
    thresholds_.assign(thresholds.begin(), thresholds.end());
    for (std::size_t i = 0; i < thresholds_.size(); ++i) {
      if (is_finite(queries.begin + static_cast<std::int64_t>(i))) continue;
      thresholds_[i] = std::numeric_limits<double>::quiet_NaN();
    }
  }
  bool lack_threshold() const {
    return std::ranges::count(thresholds_, std::numeric_limits<double>::infinity()) > 0;
  }

  // Of a block that has not been answered for any rows, of which `all` are listed. A query without
  // threshold finds all that it has met: no more than there is room for, whoever has met them.
  std::int64_t most_listed_first(std::int64_t queries, std::int64_t all) const {
    if (!products_) return list_->most;
    const std::int64_t most = products_->most_met(queries);
    if (!lack_threshold()) return most;
    return std::min({most, list_->most / queries,
                     std::max(kLshTileTuning.few_rows, all / kLshTileTuning.first_part)});
  }
  // Of one that has: as many will be found of a row as before, unless thresholds have come since.
  std::int64_t most_listed_next(std::int64_t queries) const {
    if (!products_) return list_->most;
    const std::int64_t most = products_->most_met(queries);
    if (last_.lacked_threshold && !lack_threshold()) return most;
    return std::min(most, rows_that_fit(last_.listed, last_.found, list_->most));
  }

  std::int64_t close(Range queries, Range rows, std::int64_t listed) {
    const auto [marks, words, first_row] = marked();
    return products_->close(queue(), queries, thresholds_, rows.begin - first_row, listed, marks,
                            words, *list_);
  }

  void read_found(Range queries, Range rows, std::span<std::uint64_t> places,
                  std::span<double> keys) {
    const auto bytes = static_cast<std::int64_t>(places.size_bytes());
    const gpu::WaitAtEnd wait(queue());
    if (!products_ || !products_->finds_keys()) make_keys(queries, rows);
    queue().read(*list_->places, places.data(), {1, bytes, bytes, bytes});
    queue().read(*list_->keys, keys.data(), {1, bytes, bytes, bytes});
    queue().wait();
  }

  std::vector<double> thresholds_;
  Answered last_;
};

inline std::string device_filter_name(const LshRun& run, const LshLook& look) {
  return lsh_filter_name(run, look.probes) + (look.tiles ? ", compared by tiles" : "") +
         ", on the device";
}

// Asked by one thread.
class LshDeviceFilter final : public Filter {
 public:
  LshDeviceFilter(LshPairFinder& finder, std::string name)
      : finder_(finder), name_(std::move(name)) {}

  void start(std::int64_t first_query) { first_query_ = first_query; }
  void take(const Piece& rows) { rows_ = rows; }

  void survivors(const Block& block, std::span<const double> thresholds,
                 Candidates& out) const override {
    const Range queries{block.queries.begin - first_query_, block.queries.end - first_query_};
    const Range rows = block.rows;
    const std::int64_t answered = finder_.find(queries, rows, thresholds, places_, keys_);
    by_query_.sort(places_, queries.size());
    out.start_keyed({block.queries, {rows.begin, rows.begin + answered}}, std::ssize(places_));
    for (std::int64_t i = 0; i < queries.size(); ++i) {
      for (const std::uint32_t pair : by_query_.of(i)) {
        const std::int64_t row = rows.begin + static_cast<std::uint32_t>(places_[pair]);
        out.add(row, settled(keys_[pair], queries.begin + i, row));
      }
      out.end_query();
    }
  }

  bool certified() const override { return false; }
  std::string name() const override { return name_; }

 private:
  // A query that is not finite finds nothing.
  double settled(double key, std::int64_t query, std::int64_t row) const {
    if (!finder_.is_finite(query)) return std::numeric_limits<double>::quiet_NaN();
    return settled_key(key, rows_.view.dtype(), rows_.row(row), rows_.view.cols());
  }

  LshPairFinder& finder_;
  std::string name_;
  Piece rows_;
  std::int64_t first_query_ = 0;
  mutable std::vector<std::uint64_t> places_;
  mutable std::vector<double> keys_;
  mutable PairsByQuery by_query_;
};

}  // namespace nearfield
