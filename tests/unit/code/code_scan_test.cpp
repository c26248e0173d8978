#include "code/code_scan.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/random.hpp"

namespace nearfield {
namespace {

std::vector<std::uint8_t> random_bytes(std::int64_t count, std::int64_t below, Random& random) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count));
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random.below(below));
  return bytes;
}

// One row after the other, in whole numbers.
std::vector<std::uint64_t> slow_scan(const CodeScanJob& job) {
  std::vector<std::uint64_t> near(static_cast<std::size_t>(job.count));
  const int columns = job.pair_columns + job.byte_columns;
  for (std::int64_t row = 0; row < job.count * kScanRows; ++row) {
    const std::uint8_t* table = job.tables;
    int sum = 0;
    for (int column = 0; column < columns; ++column) {
      const int code =
          job.blocks[(row / kScanRows * columns + column) * kScanRows + row % kScanRows];
      const bool pair = column < job.pair_columns;
      sum += pair ? table[code % 16] + table[16 + code / 16] : table[code];
      table += pair ? kPairEntries : kByteEntries;
    }
    if (sum <= job.most) {
      near[static_cast<std::size_t>(row / kScanRows)] |= std::uint64_t{1} << (row % kScanRows);
    }
  }
  return near;
}

TEST(CodeScan, FindsWhatSumsUpToNoMore) {
  Random random(1);
  for (const int pairs : {0, 1, 8}) {
    for (const int bytes : {0, 1, 7, 16}) {
      for (const std::int64_t count : {1, 3, 8, 21}) {
        const int columns = pairs + bytes;
        const auto codes = random_bytes(count * columns * kScanRows, 256, random);
        // So that sums are near the limit, and some far above what a byte holds.
        const auto tables =
            random_bytes(pairs * kPairEntries + bytes * kByteEntries,
                         random.below(2) == 0 ? 256 : 2 + 300 / (columns + 1), random);
        std::vector<std::uint64_t> near(static_cast<std::size_t>(count), 99);
        CodeScanJob job{.blocks = codes.data(),
                        .count = count,
                        .pair_columns = pairs,
                        .byte_columns = bytes,
                        .tables = tables.data(),
                        .most = static_cast<std::uint8_t>(random.below(kMostEntry)),
                        .near = near.data()};
        const std::vector<std::uint64_t> expected = slow_scan(job);
        for (const Isa isa : available_isas()) {
          std::ranges::fill(near, 99);
          code_scan_kernels(isa).scan(job);
          ASSERT_EQ(near, expected)
              << to_string(isa) << ", " << pairs << " pairs, " << bytes << " bytes, " << count;
        }
      }
    }
  }
}

// A sum is what it is for a row alone: float32, from the first codebook to the last.
TEST(CodeScan, AddsUpAllRowsOfABlock) {
  Random random(3);
  for (const int codebooks : {1, 2, 3, 8, 16, 17, 64}) {
    const auto block = random_bytes((codebooks + 1) / 2 * kScanRows, 256, random);
    std::vector<float> tables;  // no longer than they need to be
    for (int i = 0; i < codebooks * 16; ++i) {
      tables.push_back(static_cast<float>(1'000 * random.normal()));
    }
    std::vector<float> expected(kScanRows);
    for (std::size_t row = 0; row < expected.size(); ++row) {
      for (int k = 0; k < codebooks; ++k) {
        const int pair = block[static_cast<std::size_t>(k / 2 * kScanRows) + row];
        const int code = k % 2 == 0 ? pair % 16 : pair / 16;
        expected[row] += tables[static_cast<std::size_t>(k * 16 + code)];
      }
    }
    for (const Isa isa : available_isas()) {
      std::vector<float> sums(kScanRows, 99);
      code_scan_kernels(isa).sum({.block = block.data(),
                                  .codebooks = codebooks,
                                  .tables = tables.data(),
                                  .sums = sums.data()});
      ASSERT_EQ(sums, expected) << to_string(isa) << ", " << codebooks;
    }
  }
}

TEST(CodeScan, RoundsEntriesDown) {
  Random random(2);
  for (const std::int64_t count : {16, 256}) {
    for (const float scale : {0.0F, 0.003F, 1.0F, 1e30F}) {
      std::vector<float> values;
      for (std::int64_t i = 0; i < count; ++i) {
        values.push_back(static_cast<float>(1'000 * random.normal()));
      }
      const float least = std::ranges::min(values);
      for (const Isa isa : available_isas()) {
        std::vector<std::uint8_t> out(values.size());
        code_scan_kernels(isa).round_down(values.data(), count, least, scale, out.data());
        for (std::size_t i = 0; i < values.size(); ++i) {
          const float entry = std::floor((values[i] - least) * scale);
          ASSERT_EQ(out[i], std::min(entry, 255.0F)) << to_string(isa) << " " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace nearfield
