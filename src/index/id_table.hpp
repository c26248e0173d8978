// From ids to rows: a hash table that lies in memory as it lies in a file.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/fail.hpp"
#include "core/monitor.hpp"

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

// Where a row is for which `is_it` holds, looked for from its hash on, or the empty slot that ends
// the search. A slot holds 0 or a row + 1. The table may come from a file that is not to be
// trusted: all its rows are checked, and one without an empty slot ends the search too.
template <class IsIt>
std::size_t slot_of(std::span<const std::uint32_t> table, std::int64_t rows, std::uint64_t hash,
                    const IsIt& is_it) {
  const std::size_t mask = table.size() - 1;
  std::size_t slot = hash & mask;
  for (std::size_t looked = 0; looked < table.size(); ++looked) {
    const std::int64_t row = std::int64_t{table[slot]} - 1;
    if (row < 0) return slot;
    if (row >= rows) {
      fail(ErrorCode::corrupt_file, "a table speaks of row {}, and there are {}", row, rows);
    }
    if (is_it(row)) return slot;
    slot = (slot + 1) & mask;
  }
  fail(ErrorCode::corrupt_file, "a table has {} slots, and none is empty", table.size());
}

inline std::size_t id_slot(std::span<const std::uint32_t> table, std::span<const std::int64_t> ids,
                           std::int64_t id) {
  return slot_of(table, std::ssize(ids), id_hash(id),
                 [&](std::int64_t row) { return ids[static_cast<std::size_t>(row)] == id; });
}

// For rows with these hashes, no two of them the same. Those of a file may be, all of them: then
// each is looked for behind all others, and one wants to stop.
inline std::vector<std::uint32_t> table_of_hashes(std::span<const std::uint64_t> hashes,
                                                  const Monitor& monitor) {
  constexpr std::int64_t kRowsPerCheck = 64;
  const std::int64_t rows = std::ssize(hashes);
  std::vector<std::uint32_t> table(static_cast<std::size_t>(id_table_size(rows)));
  for (std::int64_t row = 0; row < rows; ++row) {
    if (row % kRowsPerCheck == 0) monitor.check();
    const std::size_t slot = slot_of(table, rows, hashes[static_cast<std::size_t>(row)],
                                     [](std::int64_t) { return false; });
    table[slot] = static_cast<std::uint32_t>(row + 1);
  }
  return table;
}

inline std::optional<std::int64_t> find_row(std::span<const std::uint32_t> table,
                                            std::span<const std::int64_t> ids, std::int64_t id) {
  const std::uint32_t row = table[id_slot(table, ids, id)];
  if (row == 0) return std::nullopt;
  return std::int64_t{row} - 1;
}

}  // namespace nearfield
