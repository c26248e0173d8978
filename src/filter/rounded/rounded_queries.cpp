#include "filter/rounded/rounded_queries.hpp"

#include <cstring>

#include "core/checked.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kWidest = 2;  // bytes of a value, in QueryForm::words

std::int64_t padded(std::int64_t cols) { return round_up(cols, kDepthBytes); }

void store(QueryForm form, const std::int8_t* values, std::int64_t count, std::byte* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (form == QueryForm::words) {
      const std::int16_t wide = values[i];
      std::memcpy(out + 2 * i, &wide, 2);
    } else {
      const int offset = form == QueryForm::offset_bytes ? 128 : 0;
      out[i] = static_cast<std::byte>(values[i] + offset);
    }
  }
}

}  // namespace

std::int64_t RoundedQueries::bytes_per_query(std::int64_t cols) {
  return padded(cols) * kWidest + static_cast<std::int64_t>(sizeof(Rounded));
}

std::int64_t RoundedQueries::fixed_bytes(std::int64_t cols) {
  return kTileQueries * padded(cols) * kWidest + cols + Rounder::bytes(cols);
}

RoundedQueries::RoundedQueries(const Rounding& rounding, const TileKernel& kernel,
                               MatrixView queries, std::int64_t first)
    : first_(first),
      stride_(padded(rounding.cols) * (kernel.form == QueryForm::words ? 2 : 1)),
      // Behind the last, a tile reads what it does not use.
      values_((queries.rows() + kTileQueries) * stride_) {
  std::memset(values_.data(), 0,
              static_cast<std::size_t>((queries.rows() + kTileQueries) * stride_));
  Rounder rounder(rounding);
  rounded_.reserve(static_cast<std::size_t>(queries.rows()));
  std::vector<std::int8_t> values(static_cast<std::size_t>(rounding.cols));
  for (std::int64_t query = 0; query < queries.rows(); ++query) {
    rounded_.push_back(rounder.query(queries.row(query), values.data()));
    store(kernel.form, values.data(), rounding.cols, values_.data() + query * stride_);
  }
}

}  // namespace nearfield
