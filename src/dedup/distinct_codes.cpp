#include "dedup/distinct_codes.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/checked.hpp"
#include "core/tasks.hpp"
#include "hash/bucket_table.hpp"
#include "search/check_rows.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kHashedRows = 1 << 14;
constexpr std::int64_t kBucketsOfATask = 1 << 12;
constexpr std::int64_t kRowsBetweenChecks = 1 << 16;

// About one code to a bucket.
int bits_for(std::int64_t rows) {
  return std::clamp(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows))), 1, 28);
}

class SameCodes {
 public:
  SameCodes(MatrixView codes, DisjointSets& sets, const Monitor& monitor)
      : codes_(codes),
        bytes_(static_cast<std::size_t>(row_bytes(codes.dtype(), codes.cols()))),
        sets_(sets),
        monitor_(monitor) {}

  std::uint32_t bucket_of(std::int64_t row, int bits) const {
    return static_cast<std::uint32_t>(XXH3_64bits(codes_.row(row), bytes_) >> (64 - bits));
  }

  // Most buckets have one code, however often: only what is left is sorted.
  void join(std::span<const std::uint32_t> rows, std::vector<std::uint32_t>& others) {
    others.clear();
    std::int64_t compared = 0;
    for (const std::uint32_t row : rows.subspan(1)) {
      if (++compared % kRowsBetweenChecks == 0) monitor_.check();
      if (order(row, rows[0]) == 0) {
        sets_.join(rows[0], row);
      } else {
        others.push_back(row);
      }
    }
    std::ranges::sort(others, [&](std::uint32_t a, std::uint32_t b) {
      const int comparison = order(a, b);
      return comparison != 0 ? comparison < 0 : a < b;
    });
    for (std::size_t i = 1; i < others.size(); ++i) {
      if (order(others[i - 1], others[i]) == 0) sets_.join(others[i - 1], others[i]);
    }
  }

 private:
  int order(std::uint32_t a, std::uint32_t b) const {
    return std::memcmp(codes_.row(a), codes_.row(b), bytes_);
  }

  MatrixView codes_;
  std::size_t bytes_;
  DisjointSets& sets_;
  const Monitor& monitor_;
};

// Counted first: what grows is held twice.
std::vector<std::uint32_t> firsts_of(DisjointSets& sets, std::int64_t rows,
                                     const Monitor& monitor) {
  const auto is_first = [&](std::int64_t row) {
    if (row % kRowsBetweenChecks == 0) monitor.check();
    return sets.first_of(static_cast<std::uint32_t>(row)) == row;
  };
  std::size_t count = 0;
  for (std::int64_t row = 0; row < rows; ++row) count += is_first(row) ? 1 : 0;
  std::vector<std::uint32_t> firsts;
  firsts.reserve(count);
  for (std::int64_t row = 0; row < rows; ++row) {
    if (is_first(row)) firsts.push_back(static_cast<std::uint32_t>(row));
  }
  return firsts;
}

}  // namespace

std::vector<std::uint32_t> join_same_codes(MatrixView codes, DisjointSets& sets, int threads,
                                           Monitor& monitor) {
  const int bits = bits_for(codes.rows());
  SameCodes same(codes, sets, monitor);
  AlignedArray<std::uint32_t> buckets(codes.rows());
  run_tasks(divide_up(codes.rows(), kHashedRows), threads, [&](std::int64_t task, int) {
    const std::int64_t begin = task * kHashedRows;
    const std::int64_t end = std::min(begin + kHashedRows, codes.rows());
    check_rows(codes.slice(begin, end - begin), begin, "codes", false);
    for (std::int64_t row = begin; row < end; ++row) buckets[row] = same.bucket_of(row, bits);
    monitor.advance(end - begin);
  });
  const BucketTable table({buckets.data(), static_cast<std::size_t>(codes.rows())}, bits, threads,
                          monitor);
  const std::int64_t all = std::int64_t{1} << bits;
  std::vector<std::vector<std::uint32_t>> others(static_cast<std::size_t>(threads));
  run_tasks(divide_up(all, kBucketsOfATask), threads, [&](std::int64_t task, int worker) {
    monitor.check();
    const std::int64_t end = std::min((task + 1) * kBucketsOfATask, all);
    for (std::int64_t bucket = task * kBucketsOfATask; bucket < end; ++bucket) {
      const auto rows = table.view().of(static_cast<std::uint32_t>(bucket));
      if (rows.size() > 1) same.join(rows, others[static_cast<std::size_t>(worker)]);
    }
  });
  return firsts_of(sets, codes.rows(), monitor);
}

std::int64_t bytes_to_join_same_codes(std::int64_t rows, int threads) {
  const int bits = bits_for(rows);
  return rows * static_cast<std::int64_t>(sizeof(std::uint32_t)) +
         BucketTable::bytes_for(rows, bits) + BucketTable::bytes_to_make(rows, bits, threads);
}

}  // namespace nearfield
