#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "core/aligned_array.hpp"
#include "core/checked.hpp"
#include "core/monitor.hpp"
#include "filter/filter.hpp"
#include "filter/rounded/tile_kernel.hpp"

namespace nearfield {

// Queries as the tile kernels read them, whatever their values are.
class TileQueries {
 public:
  // `query_bytes`: of the values of a query.
  TileQueries(Range range, std::int64_t query_bytes);

  static std::int64_t bytes_per_query(std::int64_t query_bytes) {
    return round_up(query_bytes, kDepthBytes);
  }
  // Behind the last, a tile reads what it does not use.
  static std::int64_t fixed_bytes(std::int64_t query_bytes) {
    return kTileQueries * bytes_per_query(query_bytes);
  }

  // Makes a query, counted from the first, where there are zeros.
  using MakeQuery = std::function<void(std::int64_t query, std::byte* out)>;

  // Each task has a MakeQuery of its own.
  void fill(int threads, const Monitor& monitor, const std::function<MakeQuery()>& start_task);

  std::int64_t stride() const { return stride_; }
  std::int64_t offset(std::int64_t query) const { return query - range_.begin; }
  const std::byte* values(std::int64_t query) const {
    return values_.data() + offset(query) * stride_;
  }

 private:
  Range range_;
  std::int64_t stride_;  // bytes
  AlignedArray<std::byte> values_;
};

}  // namespace nearfield
