#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <nearfield/isa.hpp>
#include <nearfield/matrix.hpp>
#include <nearfield/metric.hpp>

#include "distance/rough_sums.hpp"

namespace nearfield {

// Some rows in memory.
struct RowList {
  const std::byte* first;
  std::int64_t stride;         // bytes
  const std::uint32_t* picks;  // which, counted from the first; null: 0 to count - 1
  std::int64_t count;

  std::uint32_t number(std::int64_t i) const {
    return picks != nullptr ? picks[i] : static_cast<std::uint32_t>(i);
  }
  const std::byte* row(std::int64_t i) const { return first + number(i) * stride; }
  RowList part(std::int64_t begin, std::int64_t size) const {
    if (picks != nullptr) return {first, stride, picks + begin, size};
    return {first + begin * stride, stride, nullptr, size};
  }
};

// Which rows are proven too far for a query, by sums in float32 (docs/exactness.md).
class FarRows {
 public:
  static constexpr std::int64_t kAtOnce = 128;

  FarRows(MetricSpec metric, DType queries, DType base, std::int64_t cols, Isa isa);

  // Whether something can be said of this metric and these types.
  bool applies() const { return distances_ != nullptr || products_ != nullptr; }

  // The next query, and the key above which a row is of no use to it. False if nothing can be said.
  bool load(std::span<const double> query, double threshold);

  // Writes which of the rows, kAtOnce at most, are not proven to be too far. Answers how many.
  std::int64_t near(const RowList& rows, std::uint32_t* out) const;

 private:
  bool load_distance(double threshold);
  bool load_product(double threshold);

  bool cosine_;
  std::int64_t cols_;
  RoughKernel distances_ = nullptr;
  RoughKernel products_ = nullptr;
  RoughKernel of_floats_;  // products
  std::vector<float> query_;

  float most_ = 0;  // what the sum of a row that is near may be

  // Or what its product must be: so much, and so much of the row's length.
  double least_ = 0;
  double least_of_length_ = 0;
};

}  // namespace nearfield
