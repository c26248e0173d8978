#include "hash/bucket_table.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include <gtest/gtest.h>
#include <nearfield/context.hpp>

#include "core/random.hpp"
#include "hash/runs.hpp"
#include "tests/unit/expect_error.hpp"

namespace nearfield {
namespace {

using Buckets = std::vector<std::uint32_t>;

// Half of them in few buckets.
Buckets some_buckets(std::int64_t rows, int bits, std::uint64_t seed) {
  Random random(seed);
  Buckets buckets;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t all = std::int64_t{1} << bits;
    buckets.push_back(static_cast<std::uint32_t>(
        random.below(row % 2 == 0 ? all : std::max<std::int64_t>(all / 512, 1))));
  }
  return buckets;
}

std::vector<std::uint32_t> copy(std::span<const std::uint32_t> values) {
  return {values.begin(), values.end()};
}

const Context kContext;

TEST(BucketTable, AgreesWithAMultimapForAnyNumberOfThreads) {
  for (const int bits : {0, 1, 9, 10, 11, 17}) {
    for (const std::int64_t rows : {0, 1, 63, 1'000, 200'000}) {
      const Buckets buckets = some_buckets(rows, bits, 1);
      std::multimap<std::uint32_t, std::uint32_t> model;
      for (std::uint32_t row = 0; row < rows; ++row) model.emplace(buckets[row], row);
      const Monitor monitor(kContext, 1);
      for (const int threads : {1, 3, 7}) {
        const BucketTable table(buckets, bits, threads, monitor);
        for (std::uint32_t bucket = 0; bucket < std::uint32_t{1} << bits; ++bucket) {
          const auto [begin, end] = model.equal_range(bucket);
          const auto found = table.view().of(bucket);
          ASSERT_TRUE(
              std::equal(found.begin(), found.end(), begin, end,
                         [](std::uint32_t row, const auto& entry) { return row == entry.second; }))
              << bucket << " of " << bits << " bits, " << rows << " rows";
        }
      }
    }
  }
}

TEST(BucketTable, PiecesMakeTheTableOfAllTheirRows) {
  constexpr int kBits = 7;
  const Buckets buckets = some_buckets(5'000, kBits, 4);
  const Monitor monitor(kContext, 1);
  std::vector<BucketTable> pieces;
  std::size_t begin = 0;
  for (const std::size_t end : std::vector<std::size_t>{0, 64, 65, 3'001, 5'000}) {
    pieces.emplace_back(std::span(buckets).subspan(begin, end - begin), kBits, 1, monitor);
    begin = end;
  }
  const BucketTable joined(pieces);
  const BucketTable whole(buckets, kBits, 1, monitor);
  EXPECT_EQ(copy(joined.view().starts()), copy(whole.view().starts()));
  EXPECT_EQ(copy(joined.view().rows()), copy(whole.view().rows()));
}

// As an index has them: rows come in runs, and go by a bit.
TEST(BucketTable, RowsComeAndGo) {
  constexpr int kBits = 6;
  constexpr std::int64_t kRows = 30'000;
  const Buckets buckets = some_buckets(kRows, kBits, 2);
  const Monitor monitor(kContext, 1);
  Random random(3);
  std::vector<std::int64_t> ends;
  std::vector<BucketTable> tables;
  std::vector<bool> live(kRows);
  std::multimap<std::uint32_t, std::uint32_t> model;
  for (std::int64_t rows = 0; rows < kRows;) {
    const std::int64_t more = std::min(1 + random.below(200), kRows - rows);
    const GrownRuns grown = grow_runs(ends, rows + more);
    const auto added = std::span(buckets).subspan(
        static_cast<std::size_t>(grown.begin), static_cast<std::size_t>(rows + more - grown.begin));
    tables.erase(tables.begin() + static_cast<std::ptrdiff_t>(grown.kept), tables.end());
    tables.emplace_back(added, kBits, 1, monitor);
    ends.resize(grown.kept);
    ends.push_back(rows + more);
    ASSERT_LE(ends.size(), 9U);
    for (; rows < ends.back(); ++rows) {
      live[static_cast<std::size_t>(rows)] = true;
      model.emplace(buckets[static_cast<std::size_t>(rows)], static_cast<std::uint32_t>(rows));
    }
    const auto removed = static_cast<std::uint32_t>(random.below(rows));
    live[removed] = false;
    std::erase_if(model, [&](const auto& entry) { return entry.second == removed; });

    const auto bucket = static_cast<std::uint32_t>(random.below(1 << kBits));
    std::vector<std::uint32_t> found;
    for (std::size_t run = 0; run < tables.size(); ++run) {
      const auto begin = static_cast<std::uint32_t>(run > 0 ? ends[run - 1] : 0);
      for (const std::uint32_t row : tables[run].view().of(bucket)) {
        if (live[begin + row]) found.push_back(begin + row);
      }
    }
    std::vector<std::uint32_t> expected;
    const auto [first, last] = model.equal_range(bucket);
    for (auto entry = first; entry != last; ++entry) expected.push_back(entry->second);
    ASSERT_EQ(found, expected) << rows;
  }
}

TEST(BucketTable, WhatAFileHoldsIsCheckedAsItIsRead) {
  const std::vector<std::uint32_t> starts{0, 2, 1, 4, 3};
  const std::vector<std::uint32_t> rows{2, 0, 3};
  const BucketView view(starts, rows);
  EXPECT_EQ(copy(view.of(0)), (std::vector<std::uint32_t>{2, 0}));
  test::expect_error([&] { view.of(1); }, ErrorCode::corrupt_file,
                     {"bucket 1 has rows 2 to 1 of 3"});
  test::expect_error([&] { view.of(2); }, ErrorCode::corrupt_file,
                     {"bucket 2 has rows 1 to 4 of 3"});
  test::expect_error([&] { view.check_row(3); }, ErrorCode::corrupt_file, {"row 3 of 3"});
}

TEST(BucketTable, IsCancelled) {
  const Context context;
  context.cancel.cancel();
  const Monitor monitor(context, 1);
  const Buckets buckets = some_buckets(1'000, 8, 4);
  test::expect_error([&] { BucketTable(buckets, 8, 2, monitor); }, ErrorCode::cancelled,
                     {"cancelled"});
}

TEST(Runs, EachIsMuchLongerThanTheNext) {
  const auto grown = [](std::vector<std::int64_t> ends, std::int64_t rows) {
    const GrownRuns runs = grow_runs(ends, rows);
    return std::pair(runs.kept, runs.begin);
  };
  EXPECT_EQ(grown({}, 100), std::pair(std::size_t{0}, std::int64_t{0}));
  EXPECT_EQ(grown({1000}, 1100), std::pair(std::size_t{1}, std::int64_t{1000}));
  EXPECT_EQ(grown({1000}, 1250), std::pair(std::size_t{0}, std::int64_t{0}));
  EXPECT_EQ(grown({1000, 1100}, 1120), std::pair(std::size_t{2}, std::int64_t{1100}));
  EXPECT_EQ(grown({1000, 1100}, 1200), std::pair(std::size_t{1}, std::int64_t{1000}));
}

}  // namespace
}  // namespace nearfield
