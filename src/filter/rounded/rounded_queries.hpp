#pragma once

#include <cstdint>
#include <vector>

#include <nearfield/matrix.hpp>

#include "core/monitor.hpp"
#include "filter/rounded/rounder.hpp"
#include "filter/rounded/tile_kernel.hpp"
#include "filter/rounded/tile_queries.hpp"

namespace nearfield {

// Queries as a tile kernel reads them.
class RoundedQueries {
 public:
  // `first` is the number of the first query.
  RoundedQueries(const BaseRounding& rounding, const TileKernel& kernel, MatrixView queries,
                 std::int64_t first, int threads, const Monitor& monitor);

  static std::int64_t bytes_per_query(std::int64_t cols);
  static std::int64_t fixed_bytes(std::int64_t cols, int threads);

  std::int64_t stride() const { return tiles_.stride(); }
  const std::byte* values(std::int64_t query) const { return tiles_.values(query); }
  const Rounded& of(std::int64_t query) const {
    return rounded_[static_cast<std::size_t>(tiles_.offset(query))];
  }

 private:
  TileQueries tiles_;
  std::vector<Rounded> rounded_;
};

}  // namespace nearfield
