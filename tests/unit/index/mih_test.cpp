// Multi-index hashing: the answers of flat, to the bit.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <nearfield/index.hpp>

#include "core/random.hpp"
#include "filter/filter.hpp"
#include "hash/bit_partition.hpp"
#include "hash/substrings.hpp"
#include "index/mih/mih_file.hpp"
#include "index/mih/mih_tuning.hpp"
#include "tests/unit/expect_error.hpp"
#include "tests/unit/index/bit_codes.hpp"
#include "tests/unit/index/small_parts.hpp"
#include "tests/unit/io/temp_folder.hpp"

namespace nearfield {
namespace {

using test::bits_spec;
using test::expect_error;
using test::flip;
using test::TempFolder;

// Codes of which every fourth is near one before it. `skewed`: half of the bits are nearly always
// 0, and others are copies of each other.
Matrix codes(std::int64_t rows, std::int64_t cols, bool skewed, std::uint64_t seed) {
  Matrix matrix(DType::bits, rows, cols);
  Random random(seed);
  const std::int64_t bytes = row_bytes(DType::bits, cols);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::byte* const values = matrix.row(row);
    std::fill_n(values, bytes, std::byte{0});
    if (row % 4 == 3) {
      std::copy_n(matrix.row(random.below(row)), bytes, values);
      for (std::int64_t i = random.below(8); i > 0; --i) flip(values, random.below(cols));
      continue;
    }
    for (std::int64_t bit = 0; bit < cols; ++bit) {
      const bool rare = skewed && bit < cols / 2;
      if (random.below(rare ? 64 : 2) == 0) flip(values, bit);
    }
    for (std::int64_t bit = 3 * cols / 4; skewed && bit + 1 < cols; bit += 2) {
      const bool set = (values[bit / 8] >> (bit % 8) & std::byte{1}) != std::byte{0};
      const bool next = (values[(bit + 1) / 8] >> ((bit + 1) % 8) & std::byte{1}) != std::byte{0};
      if (set != next) flip(values, bit + 1);
    }
  }
  return matrix;
}

bool looked_up(const Stats& stats) {
  return stats.plan.filter.find("multi-index hashing") != std::string::npos;
}

void expect_as_flat(const Index& mih, const Index& flat, MatrixView queries,
                    const IdFilter& filter = {}, const Context& context = {}) {
  for (const std::int64_t k : {0, 1, 2, 17, 100, 5'000}) {
    const Neighbors found = mih.search(queries, {.k = k, .filter = filter}, context);
    const Neighbors expected = flat.search(queries, {.k = k, .filter = filter});
    ASSERT_EQ(found.ids, expected.ids) << k;
    ASSERT_EQ(found.keys, expected.keys) << k;
    ASSERT_EQ(found.distances, expected.distances) << k;
    ASSERT_EQ(found.counts, expected.counts) << k;
    ASSERT_TRUE(found.exact);
  }
  for (const double radius : {-1.0, 0.0, 1.5, 3.0, 7.0, 20.0, 1e300}) {
    const Ranges found = mih.within(queries, {.radius = radius, .filter = filter}, context);
    const Ranges expected = flat.within(queries, {.radius = radius, .filter = filter});
    ASSERT_EQ(found.offsets, expected.offsets) << radius;
    ASSERT_EQ(found.ids, expected.ids) << radius;
    ASSERT_EQ(found.keys, expected.keys) << radius;
    ASSERT_EQ(found.distances, expected.distances) << radius;
    ASSERT_TRUE(found.exact);
  }
}

TEST(Mih, AnswersAsFlatInMemoryAndInAFile) {
  const TempFolder folder;
  for (const std::int64_t cols : {64, 129, 256}) {
    for (const bool skewed : {false, true}) {
      SCOPED_TRACE(std::to_string(cols) + (skewed ? " skewed" : ""));
      const Matrix rows = codes(12'345, cols, skewed, 1);
      Index mih(bits_spec("mih", cols));
      Index flat(bits_spec("flat", cols));
      for (const Range piece : {Range{0, 9'000}, {9'000, 11'500}, {11'500, 12'345}}) {
        mih.add(rows.view().slice(piece.begin, piece.size()));
        flat.add(rows.view().slice(piece.begin, piece.size()));
      }
      Matrix queries = codes(8, cols, skewed, 1);  // the first rows, and some that are near
      for (std::int64_t i = 0; i < queries.rows(); ++i) flip(queries.row(i), i % 5);
      expect_as_flat(mih, flat, queries);
      if (!skewed || cols > 64) {  // or too few bits tell rows apart, and every lookup gives up
        EXPECT_TRUE(looked_up(mih.search(queries, {.k = 1}).stats));
      }
      EXPECT_TRUE(looked_up(mih.within(queries, {.radius = 2}).stats));
      mih.save(folder.path("mih"));
      verify_index(folder.path("mih"));
      Index opened = Index::open(folder.path("mih"));
      EXPECT_TRUE(looked_up(opened.within(queries, {.radius = 2}).stats));
      expect_as_flat(opened, flat, queries);

      std::vector<std::int64_t> ids;
      for (std::int64_t id = 0; id < 12'345; id += 3) ids.push_back(id);
      expect_as_flat(mih, flat, queries, {IdFilter::Kind::without, ids});
      expect_as_flat(mih, flat, queries, {IdFilter::Kind::only, ids});
      for (Index* const index : {&mih, &flat, &opened}) index->remove(ids);
      expect_as_flat(mih, flat, queries);
      expect_as_flat(opened, flat, queries);
      mih.compact();
      expect_as_flat(mih, flat, queries);
    }
  }
}

TEST(Mih, IsTheSameForAnyNumberOfThreadsAndOnEveryIsa) {
  const TempFolder folder;
  const Matrix rows = codes(20'000, 64, false, 2);
  const Matrix queries = codes(30, 64, false, 2);
  Index flat(bits_spec("flat", 64));
  flat.add(rows);
  std::string first;
  for (const int threads : {1, 3, 8}) {
    const Context context{.threads = threads};
    Index mih(bits_spec("mih", 64));
    mih.add(rows, context);
    expect_as_flat(mih, flat, queries, {}, context);
    mih.save(folder.path("mih"), context);
    std::ifstream file(folder.path("mih"), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    if (first.empty()) first = bytes;
    EXPECT_TRUE(bytes == first) << threads;
  }
  Index mih(bits_spec("mih", 64));
  mih.add(rows);
  for (const Isa isa : available_isas()) {
    expect_as_flat(mih, flat, queries.view().slice(0, 3), {}, {.isa = isa});
  }
}

TEST(Mih, WhereLookupsAreFreeEverythingIsLookedUp) {
  const TempFolder folder;
  const test::SmallParts small;
  const Matrix rows = codes(1'000, 64, true, 10);
  const MatrixView queries = rows.view().slice(0, 9);
  Index mih(bits_spec("mih", 64));
  Index flat(bits_spec("flat", 64));
  for (std::int64_t row = 0; row < 1'000; row += 125) {
    mih.add(rows.view().slice(row, 125));
    flat.add(rows.view().slice(row, 125));
  }
  expect_as_flat(mih, flat, queries);
  mih.save(folder.path("mih"));
  const Index opened = Index::open(folder.path("mih"));
  expect_as_flat(opened, flat, queries);
  for (const Stats& stats :
       {opened.search(queries, {.k = 900}).stats, opened.within(queries, {.radius = 64}).stats}) {
    EXPECT_TRUE(looked_up(stats));
    EXPECT_EQ(stats.plan.note, "");  // nothing was scanned
  }
}

// The first table finds half of the rows, the next meets them again: it is too much.
TEST(Mih, WhatALookupFoundBeforeItGaveUpCountsOnce) {
  constexpr std::int64_t kRows = 16'384;
  Matrix rows = codes(kRows, 128, false, 11);
  for (std::int64_t row = 0; row < kRows / 2; ++row) std::fill_n(rows.row(row), 16, std::byte{0});
  Index mih(bits_spec("mih", 128));
  mih.add(rows);
  mih_tuning().query = mih_tuning().lookup = mih_tuning().scan_call = 0;
  mih_tuning().candidate = 3;  // a scan takes 2.3 a row
  mih_tuning().cached = 1;
  const MatrixView query = rows.view().slice(0, 1);
  const Ranges found = mih.within(query, {.radius = 3});
  EXPECT_GE(std::ssize(found.ids), kRows / 2);
  EXPECT_GE(found.stats.pairs_verified, kRows);  // by the lookup, and by the scan
  EXPECT_FALSE(looked_up(found.stats)) << found.stats.plan.filter;
  EXPECT_NE(found.stats.plan.note.find("1 of 1 lookups were given up"), std::string::npos)
      << found.stats.plan.note;
  const std::int64_t bytes = std::ssize(found.ids) * 72;  // in half of the limit
  const Ranges limited = mih.within(query, {.radius = 3}, {.memory_limit = 2 * bytes * 3 / 2});
  EXPECT_EQ(limited.ids, found.ids);
  expect_error([&] { mih.within(query, {.radius = 3}, {.memory_limit = bytes}); },
               ErrorCode::memory_limit, {});
  mih_tuning() = MihTuning();
}

TEST(Mih, RowsThatTablesTellNothingAboutAreScanned) {
  const Matrix same(DType::bits, 5'000, 96);
  Index mih(bits_spec("mih", 96));
  Index flat(bits_spec("flat", 96));
  mih.add(same);
  flat.add(same);
  expect_as_flat(mih, flat, same.view().slice(0, 3));
}

TEST(Mih, AFewTablesOrManyFindTheSame) {
  const Matrix rows = codes(4'000, 128, false, 3);
  Index flat(bits_spec("flat", 128));
  flat.add(rows);
  for (const char* const family : {"mih,tables=1", "mih,tables=5", "mih,tables=64"}) {
    Index mih(bits_spec(family, 128));
    mih.add(rows);
    EXPECT_EQ(mih.spec().family, family);
    expect_as_flat(mih, flat, rows.view().slice(0, 5));
  }
}

TEST(Mih, SaysWhatItDoesNotTake) {
  const auto make = [](const IndexSpec& spec) { return [spec] { Index{spec}; }; };
  expect_error(make({.family = "mih", .dtype = DType::u8, .cols = 8}), ErrorCode::invalid_argument,
               {"packed bits under hamming", "u8"});
  expect_error(make(bits_spec("mih,tables=0", 64)), ErrorCode::invalid_argument,
               {"1 to 64", "not 0"});
  expect_error(make(bits_spec("mih,tables=9", 8)), ErrorCode::invalid_argument,
               {"1 to 8", "not 9"});
  expect_error(make(bits_spec("mih,tables=x", 64)), ErrorCode::invalid_argument, {"tables=x"});
  expect_error(make(bits_spec("mih,bits=3", 64)), ErrorCode::invalid_argument,
               {"'bits'", "tables"});
  expect_error(make(bits_spec("mih,tables=3,tables=5", 64)), ErrorCode::invalid_argument,
               {"'tables' twice"});
  expect_error(make(bits_spec("mih,", 64)), ErrorCode::invalid_argument, {"name=value"});
  expect_error(make(bits_spec("flat,tables=1", 64)), ErrorCode::invalid_argument,
               {"flat has no parameters"});
}

TEST(Mih, WrongArgumentsAreTheErrorsOfFlat) {
  const Matrix rows = codes(3'000, 60, false, 4);
  Index mih(bits_spec("mih", 60));
  mih.add(rows);
  const Matrix other = codes(2, 61, false, 4);
  expect_error([&] { mih.search(other, {.k = 1}); }, ErrorCode::invalid_argument, {"60", "61"});
  expect_error([&] { mih.search(rows, {.k = -1}); }, ErrorCode::invalid_argument, {"-1"});
  Matrix unused = codes(1, 60, false, 4);
  flip(unused.row(0), 63);
  expect_error([&] { mih.search(unused, {.k = 1}); }, ErrorCode::invalid_argument, {"queries"});
}

TEST(Mih, KeepsToItsContext) {
  const Matrix rows = codes(20'000, 128, false, 5);
  Index mih(bits_spec("mih", 128));
  Context tight{.memory_limit = 3 << 20};
  mih.add(rows.view().slice(0, 10'000), tight);  // without tables: they would take more
  const std::int64_t without = mih.stats().bytes;
  mih.add(rows.view().slice(10'000, 10'000));
  EXPECT_GT(mih.stats().bytes, 2 * without);

  const Context cancelled;
  cancelled.cancel.cancel();
  expect_error([&] { mih.search(rows, {.k = 2}, cancelled); }, ErrorCode::cancelled, {});
  expect_error([&] { Index(bits_spec("mih", 128)).add(rows, cancelled); }, ErrorCode::cancelled,
               {});
  expect_error([&] { mih.within(rows, {.radius = 40}, {.memory_limit = 1 << 16}); },
               ErrorCode::memory_limit, {});

  std::vector<Progress> reports;
  Context watched;
  watched.progress = [&](const Progress& progress) { reports.push_back(progress); };
  const MatrixView some = rows.view().slice(0, 300);
  const Neighbors found = mih.search(some, {.k = 3}, watched);
  EXPECT_TRUE(looked_up(found.stats));
  EXPECT_GT(found.stats.pairs_verified, 0);
  ASSERT_FALSE(reports.empty());
  for (std::size_t i = 1; i < reports.size(); ++i) {
    EXPECT_GE(reports[i].done, reports[i - 1].done);
    EXPECT_EQ(reports[i].total, 300 * 20'000);
  }
  EXPECT_EQ(reports.back().done, reports.back().total);
}

TEST(Mih, ATableThatIsWrongIsNoticed) {
  const TempFolder folder;
  const Matrix rows = codes(3'000, 64, false, 6);
  Index mih(bits_spec("mih", 64));
  mih.add(rows);
  const std::string path = folder.path("mih");
  mih.save(path);
  std::string bytes;
  {
    std::ifstream file(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  // The last number of the last table, which is a row.
  for (std::size_t i = bytes.size() - 4; i < bytes.size(); ++i) bytes[i] = '\xff';
  std::ofstream(path, std::ios::binary) << bytes;
  expect_error([&] { verify_index(path); }, ErrorCode::corrupt_file, {"mih.tables"});
  const Index opened = Index::open(path);
  // One at a time, and so far as to ask every table: the row of the last bucket meets it.
  const auto ask = [&] {
    for (std::int64_t i = 0; i < rows.rows(); ++i) {
      opened.within(rows.view().slice(i, 1), {.radius = 5}, {.threads = 1});
    }
  };
  expect_error(ask, ErrorCode::corrupt_file, {"row 4294967295 of 3000"});
}

TEST(Mih, StartsThatAreWrongAreNoticed) {
  const TempFolder folder;
  const test::SmallParts small;
  const Matrix rows = codes(3'000, 64, false, 12);
  Index mih(bits_spec("mih,tables=1", 64));  // of 12 bits
  mih.add(rows);
  const std::string path = folder.path("mih");
  mih.save(path);
  const std::string bytes = folder.get("mih");
  const std::size_t starts = bytes.size() - sizeof(std::uint32_t) * ((1 << 12) + 1 + 3'000);
  for (const std::uint32_t start : {3'000U, 3'001U}) {  // the next falls; it is beyond the rows
    std::string changed = bytes;
    std::memcpy(&changed[starts + 5 * sizeof(start)], &start, sizeof(start));
    std::ofstream(path, std::ios::binary) << changed;
    const Index opened = Index::open(path);
    const auto ask = [&] { opened.within(rows.view().slice(0, 1), {.radius = 64}); };
    expect_error(ask, ErrorCode::corrupt_file, {"bucket ", std::to_string(start), "of 3000"});
  }
}

TEST(Mih, VerifyingLooksAtEveryRowOfEveryBucket) {
  const Context context;
  const Monitor monitor(context, 1);
  const Matrix rows = codes(4'096, 64, false, 13);
  TableMaker maker(context, 64);
  const auto made = make_mih_tables(rows, nullptr, {.tables = 1}, maker, monitor);
  const MihRun& run = *made->runs().front();
  const auto verify = [&](std::size_t start, std::uint32_t at, std::size_t row, std::uint32_t is) {
    std::vector<std::uint32_t> starts(run.tables[0].starts().begin(), run.tables[0].starts().end());
    std::vector<std::uint32_t> held(run.tables[0].rows().begin(), run.tables[0].rows().end());
    starts[start] = at;
    held[row] = is;
    const auto changed = std::make_shared<MihRun>();
    changed->rows = run.rows;
    changed->partition = run.partition;
    changed->tables.emplace_back(starts, held);
    verify_mih_tables(MihTables({changed}), rows, "file", monitor);
  };
  const std::uint32_t first = run.tables[0].rows()[0];
  const std::uint32_t second = run.tables[0].starts()[2];
  const std::size_t last = run.tables[0].starts().size() - 1;
  verify(2, second, 0, first);
  for (const auto& [start, at, row, is] :
       {std::tuple{std::size_t{0}, 1U, std::size_t{0}, first},  // rows before the first bucket
        {last, 4'095U, 0, first},                               // and behind the last
        {2, 4'097U, 0, first},                                  // more than there are
        {2, second + 1, 0, first},                              // one of the next
        {2, second, 0, 4'096U},                                 // a row that there is not
        {2, second, 0, run.tables[0].rows()[4'095]}}) {         // of another bucket
    expect_error([&] { verify(start, at, row, is); }, ErrorCode::corrupt_file, {"file: table 0"});
  }
}

TEST(BitPartition, DealsBitsByWhatTheyTell) {
  const Context context;
  const Monitor monitor(context, 1);
  const Matrix even = codes(10'000, 256, false, 7);
  const BitPartition all = choose_partition(even, 10'000'000, 0, monitor);
  EXPECT_EQ(all.tables, 11);
  EXPECT_EQ(all.bits, 23);
  std::vector<std::uint32_t> sorted = all.positions;
  std::ranges::sort(sorted);
  EXPECT_EQ(std::ranges::adjacent_find(sorted), sorted.end());
  EXPECT_LT(sorted.back(), 256U);

  const Matrix skewed = codes(10'000, 256, true, 8);
  const BitPartition some = choose_partition(skewed, 10'000'000, 0, monitor);
  EXPECT_LT(some.tables, 8);
  std::int64_t copies = 0;  // of 32 pairs of bits that are the same, those in one table
  for (std::int64_t table = 0; table < some.tables; ++table) {
    std::int64_t rare = 0;
    for (const std::uint32_t bit : some.of(table)) {
      rare += bit < 128 ? 1 : 0;
      const bool pair = bit >= 192 && bit % 2 == 0;
      copies += pair && std::ranges::binary_search(some.of(table), bit + 1) ? 1 : 0;
    }
    EXPECT_LE(rare, some.bits / 3) << table;
  }
  EXPECT_LE(copies, 1);  // by chance it would be 5
}

TEST(Substrings, AreBitsAtPositions) {
  const Matrix rows = codes(130, 77, false, 9);
  const std::vector<std::uint32_t> positions{0, 5, 8, 63, 64, 76};
  std::vector<std::uint32_t> buckets(130);
  write_buckets(rows, positions, buckets);
  for (std::int64_t row = 0; row < 130; ++row) {
    for (std::size_t i = 0; i < positions.size(); ++i) {
      const auto bit =
          std::to_integer<std::uint32_t>(rows.row(row)[positions[i] / 8] >> (positions[i] % 8)) & 1;
      ASSERT_EQ(buckets[static_cast<std::size_t>(row)] >> i & 1, bit) << row << " " << i;
    }
  }
  EXPECT_EQ(differing_bits(rows.row(3), rows.row(3), positions), 0);
}

}  // namespace
}  // namespace nearfield
