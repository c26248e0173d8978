// From ids to rows: a hash table that lies in memory as it lies in a file.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/fail.hpp"

namespace nearfield {

// A part has fewer rows than this, so that a slot takes 4 bytes.
inline constexpr std::int64_t kMostPartRows = (std::int64_t{1} << 32) - 2;

// Slots for so many rows: a power of two, of which at most three quarters are used.
inline std::int64_t id_table_size(std::int64_t rows) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(rows + rows / 3 + 1)));
}

// Where an id is looked for first. Part of the file format: the finalizer of splitmix64.
inline std::uint64_t id_hash(std::int64_t id) {
  auto x = static_cast<std::uint64_t>(id);
  x = (x ^ x >> 30) * 0xbf58'476d'1ce4'e5b9;
  x = (x ^ x >> 27) * 0x94d0'49bb'1331'11eb;
  return x ^ x >> 31;
}

// The slot of an id: where its row is, or the empty one that ends the search for it. A slot holds 0
// or a row + 1. The table may come from a file that is not to be trusted: all its rows are checked,
// and one without an empty slot ends the search too.
inline std::size_t id_slot(std::span<const std::uint32_t> table, std::span<const std::int64_t> ids,
                           std::int64_t id) {
  const std::size_t mask = table.size() - 1;
  std::size_t slot = id_hash(id) & mask;
  for (std::size_t looked = 0; looked < table.size(); ++looked) {
    const std::uint32_t row = table[slot];
    if (row == 0) return slot;
    if (row > ids.size()) {
      fail(ErrorCode::corrupt_file, "the table of ids speaks of row {}, and there are {}", row - 1,
           ids.size());
    }
    if (ids[row - 1] == id) return slot;
    slot = (slot + 1) & mask;
  }
  fail(ErrorCode::corrupt_file, "the table of ids has {} slots, and none is empty", table.size());
}

inline std::optional<std::int64_t> find_row(std::span<const std::uint32_t> table,
                                            std::span<const std::int64_t> ids, std::int64_t id) {
  if (table.empty()) return std::nullopt;
  const std::uint32_t row = table[id_slot(table, ids, id)];
  if (row == 0) return std::nullopt;
  return std::int64_t{row} - 1;
}

}  // namespace nearfield
