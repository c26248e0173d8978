#include "filter/rounded/rounded_queries.hpp"

#include <algorithm>
#include <cstring>

#include "core/checked.hpp"
#include "core/float_environment.hpp"
#include "core/tasks.hpp"

namespace nearfield {
namespace {

// Rounded between two looks at the cancel token: some milliseconds.
constexpr std::int64_t kValuesPerTask = 1 << 19;

constexpr std::int64_t kWidest = 2;  // bytes of a value, in QueryForm::words

std::int64_t padded(std::int64_t cols) { return round_up(cols, kDepthBytes); }

void store(QueryForm form, const std::int8_t* values, std::int64_t count, std::byte* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (form == QueryForm::words) {
      const std::int16_t wide = values[i];  // NOLINT(bugprone-signed-char-misuse): a number
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

std::int64_t RoundedQueries::fixed_bytes(std::int64_t cols, int threads) {
  return kTileQueries * padded(cols) * kWidest + threads * (cols + Rounder::bytes(cols));
}

RoundedQueries::RoundedQueries(const Rounding& rounding, const TileKernel& kernel,
                               MatrixView queries, std::int64_t first, int threads,
                               const Monitor& monitor)
    : first_(first),
      stride_(padded(rounding.cols) * (kernel.form == QueryForm::words ? 2 : 1)),
      // Behind the last, a tile reads what it does not use.
      values_((queries.rows() + kTileQueries) * stride_),
      rounded_(static_cast<std::size_t>(queries.rows())) {
  const std::int64_t per_task = std::max<std::int64_t>(kValuesPerTask / rounding.cols, 1);
  run_tasks(divide_up(queries.rows(), per_task), threads, [&](std::int64_t task, int) {
    monitor.check();
    const DefaultFloats floats;
    Rounder rounder(rounding);
    std::vector<std::int8_t> values(static_cast<std::size_t>(rounding.cols));
    const std::int64_t end = std::min((task + 1) * per_task, queries.rows());
    for (std::int64_t query = task * per_task; query < end; ++query) {
      std::byte* const out = values_.data() + query * stride_;
      std::memset(out, 0, static_cast<std::size_t>(stride_));
      rounded_[static_cast<std::size_t>(query)] = rounder.query(queries.row(query), values.data());
      store(kernel.form, values.data(), rounding.cols, out);
    }
  });
  std::memset(values_.data() + queries.rows() * stride_, 0,
              static_cast<std::size_t>(kTileQueries * stride_));
}

}  // namespace nearfield
