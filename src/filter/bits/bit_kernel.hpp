// In how many bits queries and rows differ, and which of them in few enough.
//
// One layout for every ISA, the one of tiles (tile_kernel.hpp): 16 rows make a block, and of block
// b, word [w][r] is word w of row r, of 32 bits. So the count of a row stays in its lane from the
// first word to the last, and 64 bytes are a register of AVX-512, two of AVX2, four of SSSE3 and
// NEON.
#pragma once

#include <cstddef>
#include <cstdint>

#include <nearfield/isa.hpp>

#include "filter/rounded/tile_kernel.hpp"

namespace nearfield {

inline constexpr std::int64_t kWordBits = 32;

// Counted at once: they hide what an addition takes, each word of a row is loaded once for all of
// them, and their counts leave room for the rest in 16 registers.
inline constexpr std::int64_t kBitQueries = 8;

// Rows as they lie. Bits behind a row's last are zeros up to the end of its last byte.
struct PackedRows {
  const std::byte* first;
  std::int64_t stride;  // bytes
  std::int64_t bytes;   // of a row
  std::int64_t count;
};

// A pair is found if it differs in fewer than below[query] bits.
struct BitJob {
  const std::uint32_t* queries;  // `words` of each, one after the other
  std::int64_t query_count;
  const std::uint32_t* blocks;
  std::int64_t block_count;
  std::int64_t words;  // of a row
  const std::int32_t* below;
  std::uint32_t first_row;  // the number of the first row of the first block

  // Of query q, finds are at q * room and are appended to; rows rise.
  std::uint32_t* found_rows;
  std::int32_t* found_counts;
  std::int64_t room;    // at least kBlockRows more than there are rows
  std::int64_t* found;  // how many, of each query
};

// In how many bits a query and each of some rows differ.
struct PickedBits {
  const std::uint64_t* query;  // as the rows, the last word filled up with zeros
  const std::byte* rows;       // row 0
  std::int64_t stride;         // bytes
  std::int64_t bytes;          // of a row
  const std::uint32_t* picks;  // which rows
  std::int64_t count;
  std::uint32_t* differing;  // count of them
};

struct BitKernel {
  // To blocks; behind the last row, its copies fill the last block.
  void (*interleave)(const PackedRows& rows, std::uint32_t* blocks);

  void (*find)(const BitJob& job);

  // Bits to bytes of 0 and 1, for tiles: of 32 bits in a word, byte j of step i is bit 8 j + i.
  void (*expand)(const std::uint32_t* blocks, std::int64_t words_of_all, std::int8_t* bytes);

  void (*count_picked)(const PickedBits& job);
};

// The kernel of an ISA that is available here.
const BitKernel& bit_kernel(Isa isa);

}  // namespace nearfield
