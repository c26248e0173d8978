// Groups of near-duplicates: those of comparing every code with every other.
#include <nearfield/dedup.hpp>

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/random.hpp"
#include "dedup/disjoint_sets.hpp"
#include "dedup/join_plan.hpp"
#include "dedup/join_tuning.hpp"
#include "tests/unit/expect_error.hpp"

namespace nearfield {
namespace {

using test::expect_error;

// As long as it lives, tables are made of any number of codes, and small pieces are crowds.
class TablesOfFew {
 public:
  TablesOfFew() {
    join_tuning().planning = -1;
    join_tuning().pair = 1e6;
    join_tuning().crowded = 1;
    join_tuning().group = 2;
  }
  ~TablesOfFew() { join_tuning() = {}; }
  TablesOfFew(const TablesOfFew&) = delete;
  TablesOfFew& operator=(const TablesOfFew&) = delete;
};

void flip_bit(std::byte* row, std::int64_t bit) { row[bit / 8] ^= std::byte{1} << (bit % 8); }

int differing(const std::byte* a, const std::byte* b, std::int64_t cols) {
  int count = 0;
  for (std::int64_t i = 0; i < row_bytes(DType::bits, cols); ++i) {
    count += std::popcount(std::to_integer<unsigned>(a[i] ^ b[i]));
  }
  return count;
}

// Every other code is like one before it but for up to `most` bits. `alike`: so many different
// ones begin it; with few of them there are large clusters.
Matrix some_codes(std::int64_t rows, std::int64_t cols, std::int64_t alike, std::int64_t most,
                  std::uint64_t seed) {
  Matrix matrix(DType::bits, rows, cols);
  Random random(seed);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::byte* const values = matrix.row(row);
    if (row >= alike && row % 2 == 1) {
      std::copy_n(matrix.row(random.below(alike)), row_bytes(DType::bits, cols), values);
      for (std::int64_t i = random.below(most + 1); i > 0; --i)
        flip_bit(values, random.below(cols));
      continue;
    }
    for (std::int64_t bit = 0; bit < cols; ++bit) {
      if (random.below(2) == 0) flip_bit(values, bit);
    }
  }
  return matrix;
}

std::vector<std::int64_t> first_by_hand(MatrixView codes, std::int64_t radius) {
  std::vector<std::int64_t> first(static_cast<std::size_t>(codes.rows()));
  std::iota(first.begin(), first.end(), 0);
  const auto first_of = [&](std::int64_t row) {
    while (first[static_cast<std::size_t>(row)] != row) row = first[static_cast<std::size_t>(row)];
    return row;
  };
  for (std::int64_t i = 0; i < codes.rows(); ++i) {
    for (std::int64_t j = 0; j < i; ++j) {
      if (differing(codes.row(i), codes.row(j), codes.cols()) > radius) continue;
      const auto [a, b] = std::minmax({first_of(i), first_of(j)});
      first[static_cast<std::size_t>(b)] = a;
    }
  }
  for (std::int64_t& row : first) row = first_of(row);
  return first;
}

void expect_consistent(MatrixView codes, const DuplicateGroups& groups) {
  std::map<std::int64_t, std::vector<std::int64_t>> expected;
  for (std::int64_t row = 0; row < codes.rows(); ++row) {
    expected[groups.first_of[static_cast<std::size_t>(row)]].push_back(row);
  }
  std::erase_if(expected, [](const auto& group) { return group.second.size() < 2; });
  ASSERT_EQ(groups.offsets.size(), expected.size() + 1);
  ASSERT_EQ(groups.rows.size(), groups.distances.size());
  std::size_t number = 0;
  for (const auto& [first, rows] : expected) {
    const auto begin = static_cast<std::size_t>(groups.offsets[number]);
    const auto end = static_cast<std::size_t>(groups.offsets[++number]);
    ASSERT_EQ(std::vector(groups.rows.begin() + static_cast<std::ptrdiff_t>(begin),
                          groups.rows.begin() + static_cast<std::ptrdiff_t>(end)),
              rows);
    for (std::size_t i = begin; i < end; ++i) {
      ASSERT_EQ(groups.distances[i],
                differing(codes.row(first), codes.row(groups.rows[i]), codes.cols()));
    }
  }
}

std::vector<std::string> all_codes(MatrixView codes) {
  std::vector<std::string> all;
  for (std::int64_t row = 0; row < codes.rows(); ++row) {
    all.emplace_back(reinterpret_cast<const char*>(codes.row(row)),
                     static_cast<std::size_t>(row_bytes(DType::bits, codes.cols())));
  }
  return all;
}

void expect_as_by_hand(MatrixView codes, std::int64_t radius) {
  const std::vector<std::int64_t> expected = first_by_hand(codes, radius);
  std::vector<std::string> distinct = all_codes(codes);
  std::ranges::sort(distinct);
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  for (const int threads : {1, 3}) {
    const DuplicateGroups groups = dedup(codes, {.radius = radius}, {.threads = threads});
    ASSERT_EQ(groups.first_of, expected);
    ASSERT_EQ(groups.distinct, std::ssize(distinct));
    expect_consistent(codes, groups);
  }
}

TEST(Dedup, AsByHandForEveryWidthAndRadius) {
  for (const bool tables : {false, true}) {
    const std::unique_ptr<TablesOfFew> few = tables ? std::make_unique<TablesOfFew>() : nullptr;
    for (const std::int64_t cols : {1, 7, 33, 64, 100, 256, 300}) {
      for (const std::int64_t radius : {0, 1, 2, 5, 12, 31, 64, 1000}) {
        SCOPED_TRACE(std::to_string(cols) + " bits, radius " + std::to_string(radius) +
                     (tables ? ", tables" : ""));
        const std::uint64_t seed = static_cast<std::uint64_t>(cols * 7919 + radius);
        expect_as_by_hand(some_codes(500, cols, 200, std::min(radius + 3, cols), seed), radius);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(Dedup, TablesAreMade) {
  const TablesOfFew few;
  const Matrix codes = some_codes(3'000, 256, 1'000, 20, 1);
  const DuplicateGroups groups = dedup(codes, {.radius = 15});
  EXPECT_NE(groups.stats.plan.filter.find("bucket against bucket"), std::string::npos)
      << groups.stats.plan.filter;
  EXPECT_LT(groups.stats.pairs_considered, groups.stats.plan.pairs / 2);
  EXPECT_GT(groups.stats.pairs_verified, 0);
  EXPECT_EQ(groups.first_of, first_by_hand(codes, 15));
}

// Nearly all codes differ a little from the first.
TEST(Dedup, CrowdsAreNotComparedEachWithEach) {
  constexpr std::int64_t kRows = 12'000;
  Matrix codes = some_codes(kRows, 256, kRows, 0, 2);
  Random random(3);
  std::vector<std::int64_t> expected(kRows);
  for (std::int64_t row = 1; row < kRows; ++row) {
    if (row % 50 == 0) {
      expected[static_cast<std::size_t>(row)] = row;
      continue;
    }
    std::copy_n(codes.row(0), 32, codes.row(row));
    for (int i = 0; i < 5; ++i) flip_bit(codes.row(row), random.below(256));
  }
  for (const bool tables : {false, true}) {
    const std::unique_ptr<TablesOfFew> few = tables ? std::make_unique<TablesOfFew>() : nullptr;
    const DuplicateGroups groups = dedup(codes, {.radius = 10});
    EXPECT_EQ(groups.first_of, expected);
    expect_consistent(codes, groups);
    if (!tables) {
      EXPECT_LT(groups.stats.pairs_considered, groups.stats.plan.pairs / 3);
    }
  }
}

TEST(Dedup, EveryIsaFindsTheSame) {
  const TablesOfFew few;
  const Matrix codes = some_codes(700, 200, 100, 14, 3);
  const std::vector<std::int64_t> expected = first_by_hand(codes, 11);
  for (const Isa isa : available_isas()) {
    const DuplicateGroups groups = dedup(codes, {.radius = 11}, {.isa = isa});
    EXPECT_EQ(groups.first_of, expected) << to_string(isa);
    expect_consistent(codes, groups);
  }
}

TEST(Dedup, FewCodes) {
  const DuplicateGroups none = dedup(Matrix(DType::bits, 0, 64), {.radius = 3});
  EXPECT_TRUE(none.first_of.empty());
  EXPECT_EQ(none.offsets, std::vector<std::int64_t>{0});
  const DuplicateGroups one = dedup(Matrix(DType::bits, 1, 64), {.radius = 3});
  EXPECT_EQ(one.first_of, std::vector<std::int64_t>{0});
  EXPECT_EQ(one.distinct, 1);
  const DuplicateGroups same = dedup(Matrix(DType::bits, 3, 64), {.radius = 0});
  EXPECT_EQ(same.rows, (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(same.distinct, 1);
}

TEST(Dedup, RefusesWhatItCannotDo) {
  const Matrix codes = some_codes(100, 60, 10, 3, 4);
  expect_error([&] { dedup(codes, {.radius = -1}); }, ErrorCode::invalid_argument,
               {"radius", "-1"});
  expect_error([&] { dedup(Matrix(DType::f32, 3, 4), {.radius = 1}); }, ErrorCode::invalid_argument,
               {"packed bits", "f32"});
  expect_error([&] { dedup(codes, {.radius = 1}, {.memory_limit = 1000}); },
               ErrorCode::memory_limit, {"100 codes", "60 bits", "1000"});
  expect_error([&] { dedup(codes, {.radius = 1}, {.device = "opencl"}); }, ErrorCode::unsupported,
               {"dedup"});
  const std::vector<Isa> here = available_isas();
  Context lacking;
  lacking.isa = here.front() == Isa::neon ? Isa::avx2 : Isa::neon;
  expect_error([&] { dedup(codes, {.radius = 1}, lacking); }, ErrorCode::unsupported,
               {to_string(*lacking.isa), to_string(here.back())});
  Matrix wrong = some_codes(100, 60, 10, 3, 4);
  wrong.row(57)[7] |= std::byte{0x80};
  expect_error([&] { dedup(wrong, {.radius = 1}); }, ErrorCode::invalid_argument, {"57", "60"});
}

TEST(Dedup, IsCancelledAndShowsProgress) {
  const Matrix codes = some_codes(30'000, 256, 30'000, 0, 5);
  Context cancelled;
  cancelled.cancel.cancel();
  expect_error([&] { dedup(codes, {.radius = 31}, cancelled); }, ErrorCode::cancelled,
               {"cancelled"});
  Progress last;
  Context watched;
  watched.progress = [&](const Progress& progress) {
    EXPECT_GE(progress.done, last.done);
    EXPECT_LE(progress.done, progress.total);
    last = progress;
  };
  dedup(codes, {.radius = 31}, watched);
  EXPECT_EQ(last.done, last.total);
  EXPECT_GT(last.total, 0);
}

TEST(JoinPlan, TablesCoverTheRadius) {
  for (const std::int64_t radius : {0, 3, 10, 15, 31, 47}) {
    for (std::int64_t tables = 1; tables <= 40; ++tables) {
      const JoinPlan plan{{.tables = tables, .bits = 6}, radius};
      // Codes that no table brings together differ in one bit more in each.
      std::int64_t missed = 0;
      for (std::int64_t table = 0; table < plan.tables(); ++table) {
        missed += plan.differing(table) + 1;
      }
      EXPECT_EQ(missed, radius + 1) << radius << " in " << tables;
    }
  }
}

TEST(JoinPlan, DifferencesAreAllOfThem) {
  for (const int bits : {0, 1, 5, 9}) {
    for (std::int64_t most = 0; most <= bits + 1; ++most) {
      std::vector<std::uint32_t> expected;
      for (std::uint32_t value = 1; value < std::uint32_t{1} << bits; ++value) {
        if (std::popcount(value) <= most) expected.push_back(value);
      }
      std::vector<std::uint32_t> found = bucket_differences(bits, most);
      std::ranges::sort(found);
      EXPECT_EQ(found, expected);
    }
  }
}

TEST(DisjointSets, TheSameForAnyOrderOfPairs) {
  constexpr std::uint32_t kCount = 20'000;
  DisjointSets sets(kCount);
  std::vector<std::thread> threads;
  for (std::uint32_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&sets, thread] {
      std::vector<std::uint32_t> mine;
      for (std::uint32_t i = thread; i + 7 < kCount; i += 4) mine.push_back(i);
      if (thread % 2 == 1) std::ranges::reverse(mine);
      for (const std::uint32_t i : mine) sets.join(i, i + 7);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::uint32_t i = 0; i < kCount; ++i) ASSERT_EQ(sets.first_of(i), i % 7);
}

}  // namespace
}  // namespace nearfield
