#pragma once

#include <cstdint>
#include <vector>

#include <nearfield/matrix.hpp>

#include "core/aligned_array.hpp"
#include "core/monitor.hpp"
#include "filter/filter.hpp"
#include "filter/rounded/rounding.hpp"
#include "filter/rounded/tile_kernel.hpp"

namespace nearfield {

// Queries as a tile kernel reads them.
class RoundedQueries {
 public:
  // `first` is the number of the first query.
  RoundedQueries(const Rounding& rounding, const TileKernel& kernel, MatrixView queries,
                 std::int64_t first, int threads, const Monitor& monitor);

  static std::int64_t bytes_per_query(std::int64_t cols);
  static std::int64_t fixed_bytes(std::int64_t cols, int threads);

  std::int64_t stride() const { return stride_; }
  const std::byte* values(std::int64_t query) const {
    return values_.data() + (query - first_) * stride_;
  }
  const Rounded& of(std::int64_t query) const {
    return rounded_[static_cast<std::size_t>(query - first_)];
  }

 private:
  std::int64_t first_;
  std::int64_t stride_;  // bytes
  AlignedArray<std::byte> values_;
  std::vector<Rounded> rounded_;
};

}  // namespace nearfield
