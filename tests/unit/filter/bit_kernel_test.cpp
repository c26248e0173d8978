#include "filter/bits/bit_kernel.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "core/aligned_array.hpp"
#include "core/checked.hpp"
#include "core/random.hpp"

namespace nearfield {
namespace {

// Rows as they lie: random, all zeros and all ones; what is not a row's is 0xFF, and the memory
// ends with the last row.
struct Rows {
  Rows(std::int64_t count, std::int64_t bits, std::int64_t gap, Random& random)
      : bits(bits), bytes(divide_up(bits, 8)), stride(bytes + gap) {
    memory.resize(static_cast<std::size_t>(count * stride - gap), std::byte{0xFF});
    for (std::int64_t row = 0; row < count; ++row) {
      const std::int64_t kind = random.below(4);
      for (std::int64_t i = 0; i < bytes; ++i) {
        const std::int64_t unused = i + 1 == bytes ? bytes * 8 - bits : 0;
        const int value = kind == 0 ? 0 : kind == 1 ? 0xFF : static_cast<int>(random.below(256));
        memory[static_cast<std::size_t>(row * stride + i)] =
            static_cast<std::byte>(value & (0xFF >> unused));
      }
    }
    packed = {memory.data(), stride, bytes, count};
  }

  bool bit(std::int64_t row, std::int64_t i) const {
    const std::byte byte = memory[static_cast<std::size_t>(row * stride + i / 8)];
    return ((byte >> (i % 8)) & std::byte{1}) != std::byte{0};
  }

  std::int64_t bits;
  std::int64_t bytes;
  std::int64_t stride;
  std::vector<std::byte> memory;
  PackedRows packed;
};

std::int32_t differing(const Rows& queries, std::int64_t query, const Rows& rows,
                       std::int64_t row) {
  std::int32_t count = 0;
  for (std::int64_t i = 0; i < rows.bits; ++i) {
    count += queries.bit(query, i) != rows.bit(row, i) ? 1 : 0;
  }
  return count;
}

AlignedArray<std::uint32_t> interleaved(const BitKernel& kernel, const Rows& rows) {
  const std::int64_t words = divide_up(rows.bits, kWordBits);
  AlignedArray<std::uint32_t> blocks(round_up(rows.packed.count, kBlockRows) * words);
  kernel.interleave(rows.packed, blocks.data());
  return blocks;
}

using Finds = std::vector<std::pair<std::uint32_t, std::int32_t>>;

// Of each query, of the rows that there are.
std::vector<Finds> find(const BitKernel& kernel, const Rows& queries, const Rows& rows,
                        const std::vector<std::int32_t>& below) {
  const std::int64_t words = divide_up(rows.bits, kWordBits);
  const std::int64_t count = rows.packed.count;
  std::vector<std::uint32_t> query_words(static_cast<std::size_t>(queries.packed.count * words));
  for (std::int64_t query = 0; query < queries.packed.count; ++query) {
    std::memcpy(query_words.data() + query * words, queries.memory.data() + query * queries.stride,
                static_cast<std::size_t>(queries.bytes));
  }
  const AlignedArray<std::uint32_t> blocks = interleaved(kernel, rows);
  const std::int64_t room = round_up(count, kBlockRows) + kBlockRows;
  std::vector<std::uint32_t> found_rows(static_cast<std::size_t>(queries.packed.count * room));
  std::vector<std::int32_t> found_counts(found_rows.size());
  std::vector<std::int64_t> found(static_cast<std::size_t>(queries.packed.count), 0);
  constexpr std::uint32_t kFirst = 1000;
  kernel.find({.queries = query_words.data(),
               .query_count = queries.packed.count,
               .blocks = blocks.data(),
               .block_count = divide_up(count, kBlockRows),
               .words = words,
               .below = below.data(),
               .first_row = kFirst,
               .found_rows = found_rows.data(),
               .found_counts = found_counts.data(),
               .room = room,
               .found = found.data()});
  std::vector<Finds> all(found.size());
  for (std::size_t query = 0; query < all.size(); ++query) {
    for (std::int64_t i = 0; i < found[query]; ++i) {
      const std::size_t at = query * static_cast<std::size_t>(room) + static_cast<std::size_t>(i);
      if (found_rows[at] - kFirst >= static_cast<std::uint32_t>(count)) break;
      all[query].emplace_back(found_rows[at] - kFirst, found_counts[at]);
    }
  }
  return all;
}

constexpr std::int64_t kWidths[] = {1,   7,   8,    31,   32,         33,   64,   96,
                                    100, 127, 128,  160,  192,        255,  256,  512,
                                    513, 777, 1000, 1024, 8 * 40 + 3, 2048, 4097, 65'536};

TEST(BitKernel, FindsWhatItsDefinitionSays) {
  Random random(1);
  for (const std::int64_t bits : kWidths) {
    for (const std::int64_t gap : {0, 5}) {
      const std::int64_t count = bits > 5000 ? 17 : 1 + random.below(70);
      const Rows queries(1 + random.below(bits > 5000 ? 9 : 20), bits, gap, random);
      const Rows rows(count, bits, gap, random);
      std::vector<std::int32_t> below;
      std::vector<Finds> want;
      for (std::int64_t query = 0; query < queries.packed.count; ++query) {
        // Of one row the count itself, which must not be found, or one more; none; all.
        const std::int32_t own = differing(queries, query, rows, random.below(count));
        const std::int32_t choices[] = {own, own + 1, 0, static_cast<std::int32_t>(bits + 1)};
        below.push_back(choices[random.below(4)]);
        want.emplace_back();
        for (std::int64_t row = 0; row < count; ++row) {
          const std::int32_t differ = differing(queries, query, rows, row);
          if (differ < below.back()) {
            want.back().emplace_back(static_cast<std::uint32_t>(row), differ);
          }
        }
      }
      for (const Isa isa : available_isas()) {
        EXPECT_EQ(find(bit_kernel(isa), queries, rows, below), want)
            << to_string(isa) << ", " << bits << " bits, " << gap << " bytes between rows";
      }
    }
  }
}

TEST(BitKernel, ExpandsEachBitToAByte) {
  Random random(2);
  for (const std::int64_t bits : kWidths) {
    const Rows rows(bits > 5000 ? 16 : 48, bits, 3, random);
    const std::int64_t words = divide_up(bits, kWordBits);
    const std::int64_t block_bytes = kBlockRows * words * kWordBits;
    for (const Isa isa : available_isas()) {
      const BitKernel& kernel = bit_kernel(isa);
      const AlignedArray<std::uint32_t> blocks = interleaved(kernel, rows);
      AlignedArray<std::int8_t> bytes(rows.packed.count * words * kWordBits);
      kernel.expand(blocks.data(), rows.packed.count * words, bytes.data());
      std::int64_t wrong = 0;
      for (std::int64_t row = 0; row < rows.packed.count; ++row) {
        for (std::int64_t bit = 0; bit < words * kWordBits; ++bit) {
          const std::int64_t step = bit / kWordBits * 8 + bit % 8;
          const std::int64_t at = row / kBlockRows * block_bytes + step * kDepthBytes +
                                  row % kBlockRows * 4 + bit % kWordBits / 8;
          wrong += bytes[at] != (bit < bits && rows.bit(row, bit) ? 1 : 0) ? 1 : 0;
        }
      }
      EXPECT_EQ(wrong, 0) << to_string(isa) << ", " << bits << " bits";
    }
  }
}

}  // namespace
}  // namespace nearfield
