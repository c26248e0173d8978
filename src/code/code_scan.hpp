// The loops over codes: which rows may be near enough, by the sums of small tables, and how near
// they are.
#pragma once

#include <cstdint>

#include <nearfield/isa.hpp>

namespace nearfield {

// Codes lie in blocks of so many rows, column by column, so that a register holds one column's.
inline constexpr std::int64_t kScanRows = 64;

// Entries of the tables of a column: of two codes of 4 bits, and of one of 8.
inline constexpr std::int64_t kPairEntries = 32;
inline constexpr std::int64_t kByteEntries = 256;

// An entry, and a sum, that is too far.
inline constexpr int kMostEntry = 255;

struct CodeScanJob {
  const std::uint8_t* blocks;  // [block][column][row]
  std::int64_t count;          // of blocks
  // Columns of two codes of 4 bits, the first in the lower half; then columns of a code of 8 bits.
  int pair_columns;
  int byte_columns;
  const std::uint8_t* tables;  // column by column: kPairEntries or kByteEntries
  std::uint8_t most;           // below kMostEntry
  // Of each block a bit for each row whose entries add up to at most that. Sums stay at kMostEntry
  // where they reach it.
  std::uint64_t* near;
};

struct CodeSumJob {
  const std::uint8_t* block;  // of codes of 4 bits
  int codebooks;
  const float* tables;  // codebook by codebook: kPairEntries / 2
  float* sums;          // of each row of the block, added up from the first codebook to the last
};

// The same bits from all of them.
struct CodeScanKernels {
  void (*scan)(const CodeScanJob& job);
  void (*sum)(const CodeSumJob& job);

  // out[i] = (values[i] - least) * scale, rounded down, at most kMostEntry. `least` is the smallest
  // of them; a multiple of 16 values.
  void (*round_down)(const float* values, std::int64_t count, float least, float scale,
                     std::uint8_t* out);
};

const CodeScanKernels& code_scan_kernels(Isa isa);

}  // namespace nearfield
