// Which bits of a row each table of multi-index hashing looks at.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <nearfield/matrix.hpp>

#include "core/monitor.hpp"

namespace nearfield {

inline constexpr std::int64_t kMostMihTables = 64;
// A substring of 28 bits has starts of 1 GiB.
inline constexpr int kMostMihBits = 28;

// No bit is in two tables; some may be in none.
struct BitPartition {
  std::int64_t tables = 0;
  int bits = 0;                            // of each table
  std::vector<std::uint32_t> positions{};  // table by table

  std::span<const std::uint32_t> of(std::int64_t table) const {
    return std::span(positions).subspan(static_cast<std::size_t>(table * bits),
                                        static_cast<std::size_t>(bits));
  }
};

// The most bits that a table of so many rows looks at.
int most_mih_bits(std::int64_t rows);

// As many as the rows ask for, at most.
std::int64_t most_mih_tables(std::int64_t rows, std::int64_t cols);

// By a sample of rows like those of which there will be so many. tables: how many, 0 for as many as
// leave about one row to a bucket. Bits that are nearly always the same tell rows apart badly, and
// those that go with each other tell the same: so bits are dealt to the tables in the order of what
// they tell, each to where that adds most to what is least. The same rows, the same partition.
BitPartition choose_partition(MatrixView like, std::int64_t rows, std::int64_t tables,
                              const Monitor& monitor);

// What that takes.
std::int64_t bytes_to_partition(std::int64_t cols);

}  // namespace nearfield
