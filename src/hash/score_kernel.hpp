// Rows scored by their buckets in several tables, where so many buckets are near the query's that
// looking at every row takes less than walking through their lists.
#pragma once

#include <array>
#include <cstdint>

#include <nearfield/isa.hpp>

namespace nearfield {

// A bucket of more bits is no byte.
inline constexpr int kMostScoredBits = 8;

struct ScoreJob {
  const std::uint8_t* buckets = nullptr;  // of each row, of the first table
  std::int64_t stride = 0;                // from one table to the next
  std::int64_t tables = 0;
  const std::uint8_t* query = nullptr;  // its bucket in each table
  // Of 0, 1, ... bits in which buckets differ. All tables together add up to at most 255.
  std::array<std::uint8_t, 16> weights = {};
  std::uint8_t threshold = 1;  // at least 1
  std::int64_t rows = 0;
  std::uint32_t* found = nullptr;  // room for all rows
};

struct ScoreKernel {
  // Which rows, from 0, rising, reach the threshold; how many.
  std::int64_t (*find)(const ScoreJob& job);
};

// The kernel of an ISA that is available here.
const ScoreKernel& score_kernel(Isa isa);

}  // namespace nearfield
