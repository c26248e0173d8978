#include "filter/rounded/rounded_queries.hpp"

#include <cstring>

#include "core/checked.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kWidest = 2;  // bytes of a value, in QueryForm::words

// Whole tiles of values, and so of bytes.
std::int64_t query_bytes(std::int64_t cols, std::int64_t of_a_value) {
  return round_up(cols, kDepthBytes) * of_a_value;
}

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
  return query_bytes(cols, kWidest) + static_cast<std::int64_t>(sizeof(Rounded));
}

std::int64_t RoundedQueries::fixed_bytes(std::int64_t cols, int threads) {
  return TileQueries::fixed_bytes(query_bytes(cols, kWidest)) +
         threads * (cols + Rounder::bytes(cols));
}

RoundedQueries::RoundedQueries(const BaseRounding& rounding, const TileKernel& kernel,
                               MatrixView queries, std::int64_t first, int threads,
                               const Monitor& monitor)
    : tiles_({first, first + queries.rows()},
             query_bytes(rounding.cols, kernel.form == QueryForm::words ? kWidest : 1)),
      rounded_(static_cast<std::size_t>(queries.rows())) {
  tiles_.fill(threads, monitor, [&] {
    return [&, rounder = Rounder(rounding),
            values = std::vector<std::int8_t>(static_cast<std::size_t>(rounding.cols))](
               std::int64_t query, std::byte* out) mutable {
      rounded_[static_cast<std::size_t>(query)] = rounder.query(queries.row(query), values.data());
      store(kernel.form, values.data(), rounding.cols, out);
    };
  });
}

}  // namespace nearfield
