#include "hash/substrings.hpp"

#include <algorithm>
#include <array>

#include "core/checked.hpp"
#include "core/tasks.hpp"

namespace nearfield {
namespace {

// At a time, so that the loop over them is one of vectors.
constexpr std::int64_t kRowsAtOnce = 64;

constexpr std::int64_t kRowsOfATask = 1 << 14;

}  // namespace

void write_buckets(MatrixView rows, std::span<const std::uint32_t> positions,
                   std::span<std::uint32_t> out) {
  for (std::int64_t first = 0; first < rows.rows(); first += kRowsAtOnce) {
    const std::int64_t count = std::min(kRowsAtOnce, rows.rows() - first);
    std::array<std::uint32_t, kRowsAtOnce> buckets{};
    std::array<std::uint32_t, kRowsAtOnce> bytes{};
    std::int64_t loaded = -1;
    for (std::size_t i = 0; i < positions.size(); ++i) {
      if (const std::int64_t byte = positions[i] / 8; byte != loaded) {
        loaded = byte;
        for (std::int64_t row = 0; row < count; ++row) {
          bytes[static_cast<std::size_t>(row)] =
              std::to_integer<std::uint32_t>(rows.row(first + row)[byte]);
        }
      }
      const std::uint32_t shift = positions[i] % 8;
      for (std::size_t row = 0; row < kRowsAtOnce; ++row) {
        buckets[row] |= (bytes[row] >> shift & 1) << i;
      }
    }
    std::copy_n(buckets.begin(), count, out.begin() + first);
  }
}

std::uint32_t bucket_of(const std::byte* row, std::span<const std::uint32_t> positions) {
  std::uint32_t bucket = 0;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const auto byte = std::to_integer<std::uint32_t>(row[positions[i] / 8]);
    bucket |= (byte >> (positions[i] % 8) & 1) << i;
  }
  return bucket;
}

void hash_rows(MatrixView rows, std::span<const std::uint32_t> positions, std::uint32_t* out,
               int threads, const Monitor& monitor) {
  run_tasks(divide_up(rows.rows(), kRowsOfATask), threads, [&](std::int64_t task, int) {
    monitor.check();
    const std::int64_t begin = task * kRowsOfATask;
    const std::int64_t count = std::min(kRowsOfATask, rows.rows() - begin);
    write_buckets(rows.slice(begin, count), positions,
                  {out + begin, static_cast<std::size_t>(count)});
  });
}

void copy_codes(std::span<const std::uint32_t> buckets, std::uint8_t* codes) {
  for (std::size_t i = 0; i < buckets.size(); ++i) codes[i] = static_cast<std::uint8_t>(buckets[i]);
}

int differing_bits(const std::byte* a, const std::byte* b,
                   std::span<const std::uint32_t> positions) {
  int differing = 0;
  for (const std::uint32_t bit : positions) {
    differing += std::to_integer<int>((a[bit / 8] ^ b[bit / 8]) >> (bit % 8) & std::byte{1});
  }
  return differing;
}

}  // namespace nearfield
