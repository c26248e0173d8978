#pragma once

#include <cstdint>
#include <vector>

#include "core/aligned_array.hpp"
#include "core/monitor.hpp"
#include "filter/bits/bit_kernel.hpp"
#include "filter/filter_maker.hpp"

namespace nearfield {

// Words of a row, the last filled up with zeros.
std::int64_t words_of(std::int64_t cols);

// Queries as words, one after the other.
class BitQueries {
 public:
  BitQueries(const Piece& queries, const Monitor& monitor);

  static std::int64_t bytes_per_query(std::int64_t cols);

  std::int64_t words() const { return words_; }
  const std::uint32_t* of(std::int64_t query) const {
    return values_.data() + static_cast<std::size_t>((query - first_) * words_);
  }

 private:
  std::int64_t first_;
  std::int64_t words_;
  std::vector<std::uint32_t> values_;
};

// Queries as bytes for tiles: 1 where a bit is set, -1 where not. A product with a row's bytes of 0
// and 1 is what both have, less what the row has alone: the query's ones less it are the bits in
// which they differ.
class BitTileQueries {
 public:
  BitTileQueries(const Piece& queries, const Monitor& monitor);

  static std::int64_t bytes_per_query(std::int64_t cols);
  static std::int64_t fixed_bytes(std::int64_t cols);

  std::int64_t words() const { return words_; }
  std::int64_t stride() const { return stride_; }
  const std::byte* signs(std::int64_t query) const {
    return signs_.data() + (query - first_) * stride_;
  }
  std::int32_t ones(std::int64_t query) const {
    return ones_[static_cast<std::size_t>(query - first_)];
  }

 private:
  std::int64_t first_;
  std::int64_t words_;
  std::int64_t stride_;  // bytes
  AlignedArray<std::byte> signs_;
  std::vector<std::int32_t> ones_;
};

}  // namespace nearfield
