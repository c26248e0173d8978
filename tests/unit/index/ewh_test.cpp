// Error-weighted hashing: what scores promise, by a plain loop over rows, and what chance promises.
#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nearfield/index.hpp>

#include "core/random.hpp"
#include "hash/near_buckets.hpp"
#include "hash/score_kernel.hpp"
#include "index/ewh/ewh_choice.hpp"
#include "index/ewh/ewh_file.hpp"
#include "index/ewh/ewh_tables.hpp"
#include "tests/unit/expect_error.hpp"
#include "tests/unit/index/bit_codes.hpp"
#include "tests/unit/index/ewh_shape.hpp"
#include "tests/unit/index/small_parts.hpp"
#include "tests/unit/io/temp_folder.hpp"

namespace nearfield {
namespace {

using test::bit_at;
using test::bits_spec;
using test::ewh_shape;
using test::expect_error;
using test::flip;
using test::near_codes;
using test::TempFolder;

bool scored(const Stats& stats) {
  return stats.plan.filter.find("error-weighted hashing") != std::string::npos;
}

std::int64_t differing_in(const std::byte* a, const std::byte* b, std::int64_t cols) {
  std::int64_t differing = 0;
  for (std::int64_t bit = 0; bit < cols; ++bit) differing += bit_at(a, bit) != bit_at(b, bit);
  return differing;
}

// The score by its definition.
int score_by_definition(const EwhShape& shape, const std::vector<std::uint32_t>& positions,
                        const std::byte* query, const std::byte* row) {
  int score = 0;
  for (std::int64_t table = 0; table < shape.tables; ++table) {
    int errors = 0;
    for (int i = 0; i < shape.bits; ++i) {
      const std::uint32_t bit = positions[static_cast<std::size_t>(table * shape.bits + i)];
      errors += bit_at(query, bit) != bit_at(row, bit) ? 1 : 0;
    }
    if (errors <= shape.errors()) score += shape.weights[static_cast<std::size_t>(errors)];
  }
  return score;
}

// What a search over all rows in one run must find: the nearest of those with a high score.
std::vector<Neighbor> expected_of(const EwhShape& shape, std::int64_t seed, const std::byte* query,
                                  MatrixView rows, const std::vector<std::int64_t>& without) {
  const std::vector<std::uint32_t> positions = random_positions(shape, rows.cols(), seed);
  std::vector<Neighbor> found;
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    if (std::ranges::binary_search(without, row)) continue;
    if (score_by_definition(shape, positions, query, rows.row(row)) < shape.threshold) continue;
    found.push_back({static_cast<double>(differing_in(query, rows.row(row), rows.cols())), row});
  }
  std::ranges::sort(found, std::less<>());
  return found;
}

void expect_by_scores(const Index& index, const std::string& family, MatrixView queries,
                      MatrixView rows, const std::vector<std::int64_t>& without = {},
                      const Context& context = {}) {
  const IdFilter filter{IdFilter::Kind::without, without};
  const EwhShape shape = ewh_shape(family, rows);
  const std::int64_t seed = parse_ewh(bits_spec(family, rows.cols())).seed;
  const Neighbors nearest = index.search(queries, {.k = 7, .filter = filter}, context);
  const double radius = static_cast<double>(rows.cols()) / 6;
  const Ranges near = index.within(queries, {.radius = radius, .filter = filter}, context);
  ASSERT_FALSE(nearest.exact);
  ASSERT_FALSE(near.exact);
  ASSERT_TRUE(scored(nearest.stats)) << nearest.stats.plan.filter;
  for (std::int64_t query = 0; query < queries.rows(); ++query) {
    const std::vector<Neighbor> want = expected_of(shape, seed, queries.row(query), rows, without);
    const auto count = nearest.counts[static_cast<std::size_t>(query)];
    ASSERT_EQ(count, std::min<std::int64_t>(7, std::ssize(want)));
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      ASSERT_EQ(nearest.ids_of(query)[at], want[at].id) << query << " " << i;
      ASSERT_EQ(nearest.keys_of(query)[at], want[at].key);
      ASSERT_EQ(nearest.distances_of(query)[at], static_cast<float>(want[at].key));
    }
    const auto begin = static_cast<std::size_t>(near.offsets[static_cast<std::size_t>(query)]);
    const auto end = static_cast<std::size_t>(near.offsets[static_cast<std::size_t>(query) + 1]);
    const auto within = std::ranges::count_if(
        want, [&](const Neighbor& neighbor) { return neighbor.key <= radius; });
    ASSERT_EQ(static_cast<std::ptrdiff_t>(end - begin), within);
    for (std::size_t i = begin; i < end; ++i) {
      ASSERT_EQ(near.ids[i], want[i - begin].id);
      ASSERT_EQ(near.keys[i], want[i - begin].key);
    }
  }
}

// Of all three ways to score, and of what is chosen.
const std::vector<std::string> kEwhFamilies{
    "ewh",
    "ewh,tables=4,bits=4",
    "ewh,tables=3,bits=8,errors=1,weights=7:2,threshold=3",
    "ewh,tables=5,bits=10,seed=9",
    "ewh,tables=6,bits=13,errors=3,near=20,recall=0.99",
    "ewh,tables=8,bits=6,errors=0,threshold=1",
    "ewh,tables=2,bits=18,near=4",
};

TEST(Ewh, FindsWhatScoresSayInMemoryAndInAFile) {
  const TempFolder folder;
  for (const std::int64_t cols : {64, 133, 512}) {
    const Matrix rows = near_codes(6'400, cols, 1);
    Matrix queries = near_codes(12, cols, 1);
    for (std::int64_t i = 0; i < queries.rows(); ++i) flip(queries.row(i), i % 5);
    for (const std::string& family : kEwhFamilies) {
      SCOPED_TRACE(family + " of " + std::to_string(cols));
      Index ewh(bits_spec(family, cols));
      ewh.add(rows);
      ASSERT_NO_FATAL_FAILURE(expect_by_scores(ewh, family, queries, rows));
      const std::string path = folder.path("ewh");
      ewh.save(path);
      verify_index(path);
      Index opened = Index::open(path);
      ASSERT_NO_FATAL_FAILURE(expect_by_scores(opened, family, queries, rows));
      std::vector<std::int64_t> without;
      for (std::int64_t id = 0; id < rows.rows(); id += 3) without.push_back(id);
      ASSERT_NO_FATAL_FAILURE(expect_by_scores(ewh, family, queries, rows, without));
      opened.remove(without);
      ASSERT_NO_FATAL_FAILURE(expect_by_scores(opened, family, queries, rows, without));
    }
  }
}

TEST(Ewh, IsTheSameForAnyNumberOfThreadsAndOnEveryIsa) {
  const TempFolder folder;
  const Matrix rows = near_codes(20'032, 96, 2);
  const MatrixView queries = rows.view().slice(5, 20);
  for (const std::string family : {"ewh,tables=4,bits=4", "ewh,tables=5,bits=11"}) {
    std::string first;
    for (const int threads : {1, 3, 8}) {
      const Context context{.threads = threads};
      Index ewh(bits_spec(family, 96));
      ewh.add(rows, context);
      expect_by_scores(ewh, family, queries, rows, {}, context);
      ewh.save(folder.path("ewh"), context);
      const std::string bytes = folder.get("ewh");
      if (first.empty()) first = bytes;
      EXPECT_TRUE(bytes == first) << threads;
    }
    Index ewh(bits_spec(family, 96));
    ewh.add(rows);
    for (const Isa isa : available_isas()) {
      expect_by_scores(ewh, family, queries.slice(0, 3), rows, {}, {.isa = isa});
    }
  }
}

// One query, whose rows several threads share.
TEST(Ewh, PiecesOfARunAreTheRun) {
  Matrix rows(DType::bits, (1 << 19) + 64, 64);
  Random random(3);
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    const std::uint64_t value = random.next_u64();
    std::memcpy(rows.row(row), &value, sizeof value);
  }
  for (const std::string family :
       {"ewh,tables=4,bits=4,near=6", "ewh,tables=4,bits=10", "ewh,tables=3,bits=18"}) {
    Index ewh(bits_spec(family, 64));
    ewh.add(rows);
    const MatrixView query = rows.view().slice(77, 1);
    const Neighbors one = ewh.search(query, {.k = 50}, {.threads = 1});
    const Neighbors four = ewh.search(query, {.k = 50}, {.threads = 4});
    EXPECT_EQ(one.ids, four.ids);
    EXPECT_EQ(one.keys, four.keys);
    EXPECT_EQ(one.stats.pairs_verified, four.stats.pairs_verified);
    EXPECT_EQ(ewh.within(query, {.radius = 14}, {.threads = 1}).ids,
              ewh.within(query, {.radius = 14}, {.threads = 4}).ids);
  }
}

// In runs each row is found or not by its own scores; what is near is found all the same.
TEST(Ewh, GrowsInRunsAndFindsWhatIsAsNearAsRowsThemselves) {
  const TempFolder folder;
  const test::SmallParts small;
  const Matrix rows = near_codes(1'000, 64, 4);
  for (const std::string& family : kEwhFamilies) {
    Index ewh(bits_spec(family, 64));
    for (std::int64_t row = 0; row < 1'000; row += 125) ewh.add(rows.view().slice(row, 125));
    ewh.save(folder.path("ewh"));
    const Index opened = Index::open(folder.path("ewh"));
    for (const Index* const index : {&std::as_const(ewh), &opened}) {
      const Neighbors found = index->search(rows, {.k = 1});
      for (std::int64_t row = 0; row < 1'000; ++row) {
        ASSERT_EQ(found.keys_of(row)[0], 0) << family << " " << row;
      }
    }
  }
}

TEST(Ewh, WhoAsksForAllGetsAll) {
  const Matrix rows = near_codes(3'000, 60, 5);
  Index ewh(bits_spec("ewh", 60));
  Index flat(bits_spec("flat", 60));
  ewh.add(rows);
  flat.add(rows);
  const MatrixView queries = rows.view().slice(0, 3);
  const Neighbors all = ewh.search(queries, {.k = 3'000});
  EXPECT_TRUE(all.exact);
  EXPECT_EQ(all.ids, flat.search(queries, {.k = 3'000}).ids);
  EXPECT_EQ(all.stats.plan.expected_recall, 1);
  EXPECT_TRUE(ewh.within(queries, {.radius = 60}).exact);
  EXPECT_TRUE(ewh.within(queries, {.radius = -1}).exact);
  EXPECT_TRUE(ewh.search(queries.slice(0, 0), {.k = 2}).exact);
  const std::vector<std::int64_t> few{3, 5, 8};
  const Neighbors of_few = ewh.search(queries, {.k = 2, .filter = {IdFilter::Kind::only, few}});
  EXPECT_TRUE(of_few.exact);  // they are looked at one by one
  Index none(bits_spec("ewh", 60));
  EXPECT_TRUE(none.search(queries, {.k = 2}).exact);
}

TEST(Ewh, WrongArgumentsAreErrors) {
  const auto make = [](const IndexSpec& spec) { return [spec] { Index{spec}; }; };
  expect_error(make({.family = "ewh", .dtype = DType::u8, .cols = 8}), ErrorCode::invalid_argument,
               {"packed bits under hamming", "u8"});
  for (const auto& [family, said] : std::vector<std::pair<std::string, std::string>>{
           {"ewh,tables=0", "tables of ewh is 1 to 64"},
           {"ewh,tables=65", "not 65"},
           {"ewh,bits=25", "bits of ewh is 1 to 24"},
           {"ewh,errors=5", "errors of ewh is 0 to 4"},
           {"ewh,bits=2,errors=3", "tables of 2 bits do not differ in 3"},
           {"ewh,weights=3:2", "3 weights"},
           {"ewh,weights=1:2:3", "do not rise"},
           {"ewh,weights=0:0:0", "1 to 255"},
           {"ewh,weights=3::1", "weights="},
           {"ewh,tables=64,weights=4:2:1", "above 255"},
           {"ewh,threshold=0", "1 to 255"},
           {"ewh,near=0", "near of ewh is 1 to 64"},
           {"ewh,recall=1.5", "between 0 and 1"},
           {"ewh,recall=x", "'x'"},
           {"ewh,depth=3", "'depth'"}}) {
    expect_error(make(bits_spec(family, 64)), ErrorCode::invalid_argument, {said});
  }
  const Matrix rows = near_codes(3'000, 60, 4);
  Index ewh(bits_spec("ewh", 60));
  ewh.add(rows);
  const Matrix other = near_codes(2, 61, 4);
  expect_error([&] { ewh.search(other, {.k = 1}); }, ErrorCode::invalid_argument, {"60", "61"});
  expect_error([&] { ewh.search(rows, {.k = -1}); }, ErrorCode::invalid_argument, {"-1"});
  Matrix unused = near_codes(1, 60, 4);
  flip(unused.row(0), 63);
  expect_error([&] { ewh.search(unused, {.k = 1}); }, ErrorCode::invalid_argument, {"queries"});
}

TEST(Ewh, KeepsToItsContext) {
  const Matrix rows = near_codes(20'032, 128, 5);
  for (const std::string family : {"ewh,tables=4,bits=4", "ewh,tables=4,bits=12"}) {
    Index ewh(bits_spec(family, 128));
    ewh.add(rows.view().slice(0, 10'048), {.memory_limit = 1'000'000});  // without tables
    const std::int64_t without = ewh.stats().bytes;
    ewh.add(rows.view().slice(10'048, 9'984));
    EXPECT_GT(ewh.stats().bytes, 2 * without + 20'032 * 4 * 4);

    const Context cancelled;
    cancelled.cancel.cancel();
    expect_error([&] { ewh.search(rows, {.k = 2}, cancelled); }, ErrorCode::cancelled, {});
    expect_error([&] { Index(bits_spec(family, 128)).add(rows, cancelled); }, ErrorCode::cancelled,
                 {});
    expect_error([&] { ewh.within(rows, {.radius = 50}, {.memory_limit = 1 << 16}); },
                 ErrorCode::memory_limit, {});

    std::vector<Progress> reports;
    Context watched;
    watched.progress = [&](const Progress& progress) { reports.push_back(progress); };
    const Neighbors found = ewh.search(rows.view().slice(0, 300), {.k = 3}, watched);
    EXPECT_TRUE(scored(found.stats));
    EXPECT_GT(found.stats.pairs_verified, 0);
    EXPECT_LT(found.stats.pairs_verified, 300 * 20'032 / 4);
    EXPECT_EQ(found.stats.plan.pairs, 300 * 20'032);
    ASSERT_FALSE(reports.empty());
    for (std::size_t i = 1; i < reports.size(); ++i) {
      EXPECT_GE(reports[i].done, reports[i - 1].done);
      EXPECT_EQ(reports[i].total, 300 * 20'032);
    }
    EXPECT_EQ(reports.back().done, reports.back().total);
  }
}

TEST(Ewh, ATableThatIsWrongIsNoticed) {
  const TempFolder folder;
  const Matrix rows = near_codes(3'008, 64, 6);
  for (const std::string family : {"ewh,tables=2,bits=4,near=1", "ewh,tables=2,bits=10"}) {
    const std::int64_t bits = family.find("=10") != std::string::npos ? 10 : 4;
    Index ewh(bits_spec(family, 64));
    ewh.add(rows);
    const std::string path = folder.path("ewh");
    ewh.save(path);
    std::string bytes = folder.get("ewh");
    if (bits == 10) {  // the last row of the last table
      for (std::size_t i = bytes.size() - 4; i < bytes.size(); ++i) bytes[i] = '\xff';
    } else {
      bytes.back() = static_cast<char>(bytes.back() ^ 1);  // the last of the codes
    }
    std::ofstream(path, std::ios::binary) << bytes;
    expect_error([&] { verify_index(path); }, ErrorCode::corrupt_file, {"ewh."});
    const Index opened = Index::open(path);
    const auto ask = [&] { opened.search(rows, {.k = 1}, {.threads = 1}); };
    if (bits == 10) {
      expect_error(ask, ErrorCode::corrupt_file, {"row 4294967295 of 3008"});
    } else {
      ask();
    }
  }
}

TEST(Ewh, VerifyingLooksAtTablesAndCodes) {
  const Context context;
  const Monitor monitor(context, 1);
  const Matrix rows = near_codes(4'096, 64, 13);
  const EwhParameters parameters = parse_ewh(bits_spec("ewh,tables=2,bits=4", 64));
  TableMaker maker(context, 64);
  const auto made = make_ewh_tables(rows, nullptr, parameters, maker, monitor);
  const EwhRun& run = *made->runs().front();
  std::vector<std::uint8_t> held(run.codes.begin(), run.codes.end());
  const auto changed = std::make_shared<EwhRun>();
  changed->rows = run.rows;
  changed->shape = run.shape;
  changed->positions = run.positions;
  changed->tables = run.tables;
  changed->codes = held;
  verify_ewh_tables(EwhTables({changed}), rows, "file", monitor);
  held[5'000] ^= 1;
  expect_error([&] { verify_ewh_tables(EwhTables({changed}), rows, "file", monitor); },
               ErrorCode::corrupt_file, {"file: table 1"});
  held[5'000] ^= 1;
  std::swap(changed->tables[0], changed->tables[1]);
  expect_error([&] { verify_ewh_tables(EwhTables({changed}), rows, "file", monitor); },
               ErrorCode::corrupt_file, {"file: table 0"});
}

TEST(ScoreKernel, IsAPlainLoopOnEveryIsa) {
  Random random(7);
  std::vector<std::uint8_t> buckets(3 * 1'000);
  for (std::uint8_t& bucket : buckets) bucket = static_cast<std::uint8_t>(random.below(256));
  const std::vector<std::uint8_t> query{17, 200, 90};
  ScoreJob job;
  job.buckets = buckets.data();
  job.stride = 1'000;
  job.tables = 3;
  job.query = query.data();
  job.weights = {85, 60, 31, 4};
  for (const std::int64_t rows : {0, 1, 15, 64, 65, 999, 1'000}) {
    for (const int threshold : {1, 31, 64, 255}) {
      job.rows = rows;
      job.threshold = static_cast<std::uint8_t>(threshold);
      std::vector<std::uint32_t> want;
      for (std::int64_t row = 0; row < rows; ++row) {
        int score = 0;
        for (std::size_t table = 0; table < 3; ++table) {
          const auto bucket = buckets[table * 1'000 + static_cast<std::size_t>(row)];
          score += job.weights[static_cast<std::size_t>(
              std::popcount(static_cast<std::uint8_t>(bucket ^ query[table])))];
        }
        if (score >= threshold) want.push_back(static_cast<std::uint32_t>(row));
      }
      for (const Isa isa : available_isas()) {
        std::vector<std::uint32_t> found(static_cast<std::size_t>(rows));
        job.found = found.data();
        found.resize(static_cast<std::size_t>(score_kernel(isa).find(job)));
        ASSERT_EQ(found, want) << to_string(isa) << " " << rows << " " << threshold;
      }
    }
  }
}

TEST(NearBuckets, AreAllThatDifferInFewBitsOnce) {
  for (const auto& [bits, errors] : {std::pair{4, 2}, {1, 1}, {9, 0}, {7, 7}, {12, 3}}) {
    std::vector<std::uint32_t> seen;
    for_each_near_bucket(1, bits, errors, [&](std::uint32_t bucket, int error) {
      EXPECT_EQ(std::popcount(bucket ^ 1), error);
      EXPECT_LT(bucket, 1U << bits);
      seen.push_back(bucket);
    });
    EXPECT_EQ(std::ssize(seen), near_buckets(bits, errors));
    std::ranges::sort(seen);
    EXPECT_EQ(std::ranges::adjacent_find(seen), seen.end());
  }
  EXPECT_EQ(near_buckets(4, 2), 11);
}

}  // namespace
}  // namespace nearfield
