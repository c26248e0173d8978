#include "filter/bits/bit_queries.hpp"

#include <bit>
#include <cstring>

#include "core/checked.hpp"

namespace nearfield {
namespace {

// Made ready between two looks at the cancel token: a few milliseconds.
constexpr std::int64_t kBitsPerCheck = 1 << 21;

std::int64_t stride_of(std::int64_t cols) {
  return round_up(words_of(cols) * kWordBits, kDepthBytes);
}

// Calls use(query) for each of them, and looks at the monitor in between.
template <class Use>
void for_each_query(const Piece& queries, const Monitor& monitor, const Use& use) {
  const std::int64_t per_check =
      std::max<std::int64_t>(kBitsPerCheck / std::max<std::int64_t>(queries.view.cols(), 1), 1);
  for (std::int64_t i = 0; i < queries.view.rows(); ++i) {
    if (i % per_check == 0) monitor.check();
    use(i);
  }
}

// In the order of BitKernel::expand. Answers how many bits are set.
std::int32_t expand_signs(const std::byte* row, std::int64_t cols, std::byte* out) {
  std::int32_t ones = 0;
  for (std::int64_t bit = 0; bit < cols; ++bit) {
    const bool set = ((row[bit / 8] >> (bit % 8)) & std::byte{1}) != std::byte{0};
    const std::int64_t in_word = bit % kWordBits;
    out[bit - in_word + in_word % 8 * 4 + in_word / 8] = set ? std::byte{1} : std::byte{0xFF};
    ones += set ? 1 : 0;
  }
  return ones;
}

}  // namespace

std::int64_t words_of(std::int64_t cols) { return divide_up(cols, kWordBits); }

BitQueries::BitQueries(const Piece& queries, const Monitor& monitor)
    : first_(queries.first),
      words_(words_of(queries.view.cols())),
      values_(static_cast<std::size_t>(queries.view.rows() * words_)) {
  const auto bytes = static_cast<std::size_t>(row_bytes(DType::bits, queries.view.cols()));
  if (bytes == 0) return;
  for_each_query(queries, monitor, [&](std::int64_t i) {
    std::memcpy(values_.data() + i * words_, queries.view.row(i), bytes);
  });
}

std::int64_t BitQueries::bytes_per_query(std::int64_t cols) {
  return words_of(cols) * static_cast<std::int64_t>(sizeof(std::uint32_t));
}

BitTileQueries::BitTileQueries(const Piece& queries, const Monitor& monitor)
    : first_(queries.first),
      words_(words_of(queries.view.cols())),
      stride_(stride_of(queries.view.cols())),
      // Behind the last, a tile reads what it does not use.
      signs_((queries.view.rows() + kTileQueries) * stride_),
      ones_(static_cast<std::size_t>(queries.view.rows())) {
  std::memset(signs_.data() + queries.view.rows() * stride_, 0,
              static_cast<std::size_t>(kTileQueries * stride_));
  for_each_query(queries, monitor, [&](std::int64_t i) {
    std::byte* const out = signs_.data() + i * stride_;
    std::memset(out, 0, static_cast<std::size_t>(stride_));
    ones_[static_cast<std::size_t>(i)] =
        expand_signs(queries.view.row(i), queries.view.cols(), out);
  });
}

std::int64_t BitTileQueries::bytes_per_query(std::int64_t cols) {
  return stride_of(cols) + static_cast<std::int64_t>(sizeof(std::int32_t));
}

std::int64_t BitTileQueries::fixed_bytes(std::int64_t cols) {
  return kTileQueries * stride_of(cols);
}

}  // namespace nearfield
