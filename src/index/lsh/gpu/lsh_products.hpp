// Rows that the queries of a block have met on a device, compared with all of these by the products
// of tiles that an exact scan has there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <nearfield/matrix.hpp>
#include <nearfield/metric.hpp>

#include "distance/gpu/close_step.hpp"
#include "filter/gpu/pair_finder.hpp"
#include "filter/gpu/work_pace.hpp"

namespace nearfield {

inline constexpr std::int64_t kLshTileQueries = kProductTile;  // of a block: fewer cost as much

// Rows that are compared by tiles. Chosen, not measured: there was no card to measure on.
struct LshTileTuning {
  // Gathered at a time: 512 tiles of products, a block of threads each. Of wide rows fewer, which
  // these bytes hold, but at least a tile.
  std::int64_t most_gathered = 1 << 16;
  std::int64_t most_gathered_bytes = std::int64_t{64} << 20;
  // Of those that a block has met, compared first, where queries have no threshold and all that
  // they have met is found: a part of them, or a few, which are 8 tiles.
  std::int64_t first_part = 8;
  std::int64_t few_rows = 1024;
};
inline constexpr LshTileTuning kLshTileTuning;

// What vectors take of a device: at most, of halves, while bytes take less.
struct LshProductRoom {
  std::int64_t row_bytes;  // as it is copied there
  std::int64_t cols;

  // Rows of a run that are gathered at a time, where there is room for them; and in so many bytes.
  std::int64_t most_rows(std::int64_t rows) const;
  std::int64_t rows_within(std::int64_t bytes, std::int64_t rows) const;
  // Of the device, for so many.
  std::int64_t bytes(std::int64_t gathered) const;
  // And for each query of a batch.
  std::int64_t query_bytes() const;

 private:
  std::int64_t gathered_bytes() const;  // of a row
  std::int64_t padding_bytes() const;
};

class LshProducts {
 public:
  struct Types {
    MetricSpec metric;
    DType queries;
    DType rows;
    std::int64_t cols;
  };
  // most_rows: that are gathered at a time.
  LshProducts(gpu::Device& device, const Types& types, std::int64_t most_rows);

  // A batch of them, on the device. Looks at them, as at the rows.
  void take_queries(gpu::Queue& queue, const gpu::ArrayTile& queries, std::int64_t count);
  // Those on the device that may be met, after the queries. largest: as of ProductFinder.
  void take_rows(gpu::Queue& queue, const gpu::ArrayTile& rows,
                 const std::function<float()>& largest);

  // To be listed in: each row once that any query of a block has met.
  const PlaceList& met() const { return met_; }
  // How many of them are compared at a time, with so many queries.
  std::int64_t most_met(std::int64_t queries) const { return pace_.rows_of(queries, met_.most); }

  // Lists pairs of these queries of the batch and the first `count` rows that are listed as met,
  // from row `first` of those on the device on: those that have met and may be at or below their
  // threshold, NaN for none. marks: of each query, `words` of 32 bits. Answers how many there are,
  // also without room for them.
  std::int64_t close(gpu::Queue& queue, Range queries, std::span<const double> thresholds,
                     std::int64_t first, std::int64_t count, const gpu::Buffer& marks,
                     std::int64_t words, const PairList& found);
  // Whether with their keys, or these are to be made.
  bool finds_keys() const { return finder_->finds_keys(); }

 private:
  std::unique_ptr<ProductFinder> finder_;
  WorkPace pace_;
  PlaceList met_;
  gpu::ArrayTile gathered_{};
  const gpu::ArrayTile* rows_ = nullptr;
  std::vector<std::byte> host_limits_;
  std::unique_ptr<gpu::Buffer> limits_;
};

}  // namespace nearfield
