// Locality-sensitive hashing as an index: what it gives is true, if not all there is.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nearfield/index.hpp>
#include <nearfield/knn.hpp>

#include "core/random.hpp"
#include "filter/filter.hpp"
#include "tests/unit/expect_error.hpp"
#include "tests/unit/index/same_answers.hpp"
#include "tests/unit/index/small_parts.hpp"
#include "tests/unit/io/temp_folder.hpp"

namespace nearfield {
namespace {

using test::expect_error;
using test::expect_same_answers;
using test::TempFolder;

// Of clusters, so that there is something to look up: whole numbers from 0 to 255.
Matrix clustered(DType dtype, std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  Matrix matrix(dtype, rows, cols);
  Random centres(99);
  const std::int64_t clusters = 64;
  std::vector<double> centre(static_cast<std::size_t>(clusters * cols));
  for (double& value : centre) value = static_cast<double>(centres.below(200));
  Random random(seed);
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t of = random.below(clusters);
    for (std::int64_t j = 0; j < cols; ++j) {
      const double value =
          centre[static_cast<std::size_t>(of * cols + j)] + std::floor(12 * random.normal());
      const double kept = std::clamp(value, 0.0, 255.0);
      std::byte* const to = matrix.row(i);
      if (dtype == DType::u8) {
        to[j] = static_cast<std::byte>(kept);
      } else if (dtype == DType::f32) {
        reinterpret_cast<float*>(to)[j] = static_cast<float>(kept);
      } else {
        reinterpret_cast<double*>(to)[j] = kept;
      }
    }
  }
  return matrix;
}

IndexSpec lsh_spec(const std::string& family, DType dtype, std::int64_t cols,
                   MetricSpec metric = Metric::sqeuclidean) {
  return {.family = family, .dtype = dtype, .cols = cols, .metric = metric};
}

bool by_hashes(const Stats& stats) {
  return stats.plan.filter.find("locality-sensitive hashing") != std::string::npos;
}

double recall_of(const Neighbors& found, const Neighbors& truth) {
  std::int64_t there = 0;
  for (std::int64_t query = 0; query < found.queries; ++query) {
    for (const std::int64_t id : truth.ids_of(query)) {
      there += std::ranges::count(found.ids_of(query), id);
    }
  }
  return static_cast<double>(there) / static_cast<double>(truth.ids.size());
}

// Each is found with the key that the exact search gives it, in its order.
void expect_part_of(const Neighbors& found, const Neighbors& all) {
  for (std::int64_t query = 0; query < found.queries; ++query) {
    const auto ids = all.ids_of(query);
    std::int64_t last = -1;
    for (std::int64_t i = 0; i < found.counts[static_cast<std::size_t>(query)]; ++i) {
      const auto at = std::ranges::find(ids, found.ids_of(query)[static_cast<std::size_t>(i)]);
      ASSERT_NE(at, ids.end());
      const std::int64_t place = at - ids.begin();
      EXPECT_GT(place, last);
      EXPECT_EQ(found.keys_of(query)[static_cast<std::size_t>(i)],
                all.keys_of(query)[static_cast<std::size_t>(place)]);
      last = place;
    }
  }
}

const std::vector<std::string> kFamilies{"lsh",
                                         "lsh,hash=sign,bits=14",
                                         "lsh,hash=gaussian,bits=12,each=2,probes=8",
                                         "lsh,hash=learned,bits=20,each=2,tables=8",
                                         "lsh,hash=floor,bits=16,width=150",
                                         "lsh,hash=e8,bits=32,width=200,probes=64",
                                         "lsh,hash=learned,bits=40,match=sort,probes=40",
                                         "lsh,hash=sign,bits=9,match=sort,tables=4"};

TEST(Lsh, GivesTheNearestOfWhatItFinds) {
  const TempFolder folder;
  for (const std::string& family : kFamilies) {
    for (const MetricSpec metric : {MetricSpec(Metric::sqeuclidean), MetricSpec(Metric::cosine),
                                    MetricSpec(Metric::euclidean)}) {
      SCOPED_TRACE(family + " " + to_string(metric));
      const DType dtype = metric.metric == Metric::sqeuclidean ? DType::u8 : DType::f32;
      const Matrix rows = clustered(dtype, 6'400, 24, 1);
      const Matrix queries = clustered(dtype, 40, 24, 2);
      Index index(lsh_spec(family, dtype, 24, metric));
      for (const Range piece : {Range{0, 4'000}, {4'000, 6'300}, {6'300, 6'400}}) {
        index.add(rows.view().slice(piece.begin, piece.size()));
      }
      const Neighbors all = knn(queries, rows, {.k = 6'400, .metric = metric});
      const Neighbors found = index.search(queries, {.k = 10});
      EXPECT_FALSE(found.exact);
      EXPECT_TRUE(std::isnan(found.stats.plan.expected_recall));
      EXPECT_TRUE(by_hashes(found.stats)) << found.stats.plan.filter;
      EXPECT_LT(found.stats.pairs_verified, 40 * 6'400);
      expect_part_of(found, all);
      const double part = recall_of(found, knn(queries, rows, {.k = 10, .metric = metric}));
      EXPECT_GT(part, 0.25);

      // The first k of more are the same.
      const Neighbors more = index.search(queries, {.k = 25});
      for (std::int64_t query = 0; query < 40; ++query) {
        EXPECT_TRUE(std::ranges::equal(found.ids_of(query), more.ids_of(query).first(10)));
      }

      index.save(folder.path("lsh"));
      verify_index(folder.path("lsh"));
      const Index opened = Index::open(folder.path("lsh"));
      const Neighbors again = opened.search(queries, {.k = 10});
      EXPECT_TRUE(by_hashes(again.stats));
      expect_part_of(again, all);
      EXPECT_NEAR(recall_of(again, knn(queries, rows, {.k = 10, .metric = metric})), part, 0.35);
    }
  }
}

// Where every bucket is probed, nothing is missed: the answers of flat, but for what they claim.
TEST(Lsh, FindsAllWhereItLooksEverywhere) {
  const TempFolder folder;
  const test::SmallParts small;
  const Matrix rows = clustered(DType::f32, 1'000, 10, 3);
  const Matrix queries = clustered(DType::u8, 12, 10, 4);  // of a type that the rows' holds
  for (const std::string family :
       {"lsh,hash=sign,bits=4,tables=1,probes=16", "lsh,bits=3,tables=2,probes=8,match=sort"}) {
    SCOPED_TRACE(family);
    Index lsh(lsh_spec(family, DType::f32, 10));
    Index flat(lsh_spec("flat", DType::f32, 10));
    for (std::int64_t row = 0; row < 1'000; row += 125) {
      lsh.add(rows.view().slice(row, 125));
      flat.add(rows.view().slice(row, 125));
    }
    const auto expect_as_flat = [&](const Index& index, const IdFilter& filter = {}) {
      for (const std::int64_t k : {0, 1, 17, 2'000}) {
        const SearchOptions options{.k = k, .filter = filter};
        const Neighbors found = index.search(queries, options);
        expect_same_answers(found, flat.search(queries, options));
      }
      for (const double radius : {-1.0, 4'000.0, 1e300}) {
        const RangeOptions options{.radius = radius, .filter = filter};
        expect_same_answers(index.within(queries, options), flat.within(queries, options));
      }
    };
    expect_as_flat(lsh);
    EXPECT_FALSE(lsh.search(queries, {.k = 3}).exact);
    EXPECT_FALSE(lsh.within(queries, {.radius = 3}).exact);
    lsh.save(folder.path("lsh"));
    Index opened = Index::open(folder.path("lsh"));
    expect_as_flat(opened);

    std::vector<std::int64_t> ids;
    for (std::int64_t id = 0; id < 1'000; id += 3) ids.push_back(id);
    expect_as_flat(lsh, {IdFilter::Kind::without, ids});
    expect_as_flat(lsh, {IdFilter::Kind::only, ids});
    EXPECT_TRUE(lsh.search(queries, {.k = 1, .filter = {IdFilter::Kind::only, ids}}).exact);
    for (Index* const index : {&lsh, &flat, &opened}) index->remove(ids);
    expect_as_flat(lsh);
    expect_as_flat(opened);
    lsh.compact();
    expect_as_flat(lsh);
    lsh.upsert(rows.view().slice(0, 5), std::vector<std::int64_t>{1, 2, 3, 4, 5});
    flat.upsert(rows.view().slice(0, 5), std::vector<std::int64_t>{1, 2, 3, 4, 5});
    expect_as_flat(lsh);
  }
}

TEST(Lsh, IsTheSameForAnyNumberOfThreadsAndOnEveryIsa) {
  const TempFolder folder;
  const Matrix rows = clustered(DType::f32, 8'192, 33, 5);
  const Matrix queries = clustered(DType::f32, 30, 33, 6);
  for (const std::string family : {"lsh,tables=6", "lsh,hash=floor,bits=24,tables=6,match=sort"}) {
    std::string first;
    Neighbors expected;
    for (const int threads : {1, 3, 8}) {
      const Context context{.threads = threads};
      Index index(lsh_spec(family, DType::f32, 33, Metric::cosine));
      index.add(rows, context);
      const Neighbors found = index.search(queries, {.k = 20}, context);
      index.save(folder.path("lsh"), context);
      const std::string bytes = folder.get("lsh");
      if (first.empty()) {
        first = bytes;
        expected = found;
      }
      EXPECT_TRUE(bytes == first) << threads;
      expect_same_answers(found, expected);
      // The tables of a file are those of rows that came at once.
      expect_same_answers(Index::open(folder.path("lsh")).search(queries, {.k = 20}), expected);
      for (const Isa isa : available_isas()) {
        expect_same_answers(index.search(queries, {.k = 20}, {.isa = isa}), expected);
      }
    }
  }
}

TEST(Lsh, SortedKeysAndBucketsFindTheSame) {
  const Matrix rows = clustered(DType::u8, 8'192, 16, 7);
  const Matrix queries = clustered(DType::u8, 50, 16, 8);
  const auto search = [&](const std::string& family) {
    Index index(lsh_spec(family, DType::u8, 16));
    index.add(rows);
    return index.search(queries, {.k = 10});
  };
  expect_same_answers(search("lsh,bits=12,tables=5"), search("lsh,bits=12,tables=5,match=sort"));
  // Longer keys are folded: a bucket has rows of other keys, too.
  const Neighbors folded = search("lsh,bits=30,tables=5");
  const Neighbors sorted = search("lsh,bits=30,tables=5,match=sort");
  EXPECT_GE(folded.stats.pairs_verified, sorted.stats.pairs_verified);
  for (std::size_t i = 0; i < folded.keys.size(); ++i) EXPECT_LE(folded.keys[i], sorted.keys[i]);
}

// Few bits: a bucket has many rows, and rows are met by many queries of a tile, or by one.
TEST(Lsh, TilesAndPairsFindTheSame) {
  using Kind = std::pair<DType, Metric>;
  for (const Kind& kind : {Kind{DType::u8, Metric::sqeuclidean}, Kind{DType::u8, Metric::cosine},
                           Kind{DType::f32, Metric::euclidean}, Kind{DType::f32, Metric::cosine}}) {
    const DType dtype = kind.first;
    const MetricSpec metric = kind.second;
    const Matrix rows = clustered(dtype, 6'400, 33, 7);
    const Matrix queries = clustered(dtype, 75, 33, 8);
    for (const std::string family : {"lsh,hash=sign,bits=3,tables=2", "lsh,bits=14,tables=3"}) {
      SCOPED_TRACE(family + " of " + std::string(to_string(dtype)) + " " + to_string(metric));
      const auto made = [&](const std::string& more) {
        Index index(lsh_spec(family + more, dtype, 33, metric));
        index.add(rows.view().slice(0, 5'000));
        index.add(rows.view().slice(5'000, 1'400));  // the last have no tables
        return index;
      };
      const Index pairs = made(",compare=pairs");
      const Index tiles = made(",compare=tiles");
      double radius = 8'100;
      if (metric.metric == Metric::cosine) radius = 0.97;
      if (metric.metric == Metric::euclidean) radius = 90;
      for (const int threads : {1, 3}) {
        const Neighbors found = tiles.search(queries, {.k = 12}, {.threads = threads});
        EXPECT_NE(found.stats.plan.filter.find("by tiles"), std::string::npos);
        expect_same_answers(found, pairs.search(queries, {.k = 12}));
        expect_same_answers(tiles.within(queries, {.radius = radius}, {.threads = threads}),
                            pairs.within(queries, {.radius = radius}));
      }
      expect_same_answers(tiles.search(queries, {.k = 12}, {.memory_limit = 8 << 20}),
                          pairs.search(queries, {.k = 12}));
      // Without a threshold all that is met.
      EXPECT_EQ(tiles.search(queries, {.k = 6'400}).stats.pairs_verified,
                pairs.search(queries, {.k = 6'400}).stats.pairs_verified);
    }
  }
}

TEST(Lsh, MoreTablesAndProbesFindMore) {
  const Matrix rows = clustered(DType::f32, 16'384, 32, 9);
  const Matrix queries = clustered(DType::f32, 200, 32, 10);
  const Neighbors truth = knn(queries, rows, {.k = 10});
  const auto recall_by = [&](const std::string& parameters) {
    Index index(lsh_spec("lsh,bits=16," + parameters, DType::f32, 32));
    index.add(rows);
    return recall_of(index.search(queries, {.k = 10}), truth);
  };
  const double few = recall_by("tables=2,probes=2");
  const double more_tables = recall_by("tables=12,probes=2");
  const double more_probes = recall_by("tables=2,probes=40");
  EXPECT_GT(more_tables, few + 0.1);
  EXPECT_GT(more_probes, few + 0.1);
  EXPECT_EQ(recall_by("tables=2,probes=2,seed=0"), few);
  EXPECT_NE(recall_by("tables=2,probes=2,seed=1"), few);
}

TEST(Lsh, RowsAndQueriesThatAreNotFiniteAreNeverFound) {
  Matrix rows = clustered(DType::f32, 4'096, 8, 11);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  reinterpret_cast<float*>(rows.row(5))[3] = nan;
  reinterpret_cast<float*>(rows.row(6))[0] = std::numeric_limits<float>::infinity();
  reinterpret_cast<float*>(rows.row(7))[0] = std::numeric_limits<float>::max();
  for (const std::string family : {"lsh,bits=1,probes=2", "lsh,hash=e8,bits=32"}) {
    Index index(lsh_spec(family, DType::f32, 8));
    index.add(rows);
    const Neighbors found = index.search(rows.view().slice(4, 4), {.k = 4'096});
    for (const std::int64_t id : found.ids) EXPECT_TRUE(id != 5 && id != 6);
    EXPECT_EQ(found.ids_of(0)[0], 4);
    EXPECT_EQ(found.counts[1], 0);
    EXPECT_EQ(found.counts[2], 0);
    EXPECT_EQ(found.ids_of(3)[0], 7);
  }
}

TEST(Lsh, SaysWhatItDoesNotTake) {
  const auto make = [](const std::string& family, DType dtype = DType::f32,
                       Metric metric = Metric::sqeuclidean) {
    return [=] { Index{lsh_spec(family, dtype, 8, metric)}; };
  };
  const auto wrong = [&](const std::string& family, std::initializer_list<std::string_view> words) {
    expect_error(make(family), ErrorCode::invalid_argument, words);
  };
  expect_error(make("lsh", DType::bits, Metric::hamming), ErrorCode::invalid_argument,
               {"floats and bytes", "bits", "use mih"});
  expect_error(make("lsh", DType::f32, Metric::l1), ErrorCode::invalid_argument, {"l1", "flat"});
  expect_error(make("lsh", DType::f32, Metric::inner_product), ErrorCode::invalid_argument,
               {"cosine"});
  wrong("lsh,hash=x", {"'x'", "sign, gaussian, floor, e8, learned"});
  wrong("lsh,bits=65", {"'bits'", "1 to 64", "65"});
  wrong("lsh,bits=9,each=2", {"multiple of 2", "9"});
  wrong("lsh,hash=floor,bits=10", {"multiple of 4", "10"});
  wrong("lsh,hash=e8,bits=20", {"multiple of 32", "20"});
  wrong("lsh,hash=e8,each=2", {"two bits"});
  wrong("lsh,width=20", {"'width'", "floor and e8"});
  wrong("lsh,tables=0", {"'tables'", "1 to 1024", "0"});
  wrong("lsh,probes=5000", {"'probes'", "1 to 4096"});
  wrong("lsh,match=tree", {"'tree'", "table and sort"});
  wrong("lsh,compare=trees", {"'trees'", "pairs and tiles"});
  wrong("lsh,radius=3", {"'radius'", "hash, bits, each, tables"});
  Index index(lsh_spec("lsh", DType::f32, 8));
  index.add(clustered(DType::f32, 3'000, 8, 12));
  const Matrix other = clustered(DType::f32, 2, 9, 12);
  expect_error([&] { index.search(other, {.k = 1}); }, ErrorCode::invalid_argument, {"8", "9"});
  expect_error([&] { index.search(other.view().slice(0, 0), {.k = -1}); },
               ErrorCode::invalid_argument, {"-1"});
}

TEST(Lsh, KeepsToItsContext) {
  const Matrix rows = clustered(DType::f32, 20'000, 32, 13);
  Index index(lsh_spec("lsh", DType::f32, 32));
  index.add(rows.view().slice(0, 10'000), {.memory_limit = 3 << 20});  // without tables
  const std::int64_t without = index.stats().bytes;
  index.add(rows.view().slice(10'000, 10'000));
  EXPECT_GT(index.stats().bytes, 2 * without);

  const Context cancelled;
  cancelled.cancel.cancel();
  expect_error([&] { index.search(rows, {.k = 2}, cancelled); }, ErrorCode::cancelled, {});
  expect_error([&] { Index(index.spec()).add(rows, cancelled); }, ErrorCode::cancelled, {});
  expect_error([&] { index.search(rows, {.k = 2}, {.memory_limit = 1 << 16}); },
               ErrorCode::memory_limit, {});

  std::vector<Progress> reports;
  Context watched;
  watched.progress = [&](const Progress& progress) { reports.push_back(progress); };
  const MatrixView some = rows.view().slice(0, 300);
  const Neighbors found = index.search(some, {.k = 3}, watched);
  ASSERT_FALSE(reports.empty());
  for (std::size_t i = 1; i < reports.size(); ++i) {
    EXPECT_GE(reports[i].done, reports[i - 1].done);
  }
  EXPECT_EQ(reports.back().done, 300 * 20'000);
  EXPECT_EQ(reports.back().total, 300 * 20'000);
  // In batches, the same.
  expect_same_answers(index.search(some, {.k = 3}, {.memory_limit = 2 << 20}), found);
}

TEST(Lsh, ATableThatIsWrongIsNoticed) {
  const TempFolder folder;
  const Matrix rows = clustered(DType::u8, 3'000, 8, 14);
  for (const std::string family :
       {"lsh,bits=2,tables=2,probes=4", "lsh,bits=2,tables=2,probes=4,match=sort"}) {
    Index index(lsh_spec(family, DType::u8, 8));
    index.add(rows);
    const std::string path = folder.path("lsh");
    index.save(path);
    std::string bytes = folder.get("lsh");
    // The last number of the last table, which is a row.
    for (std::size_t i = bytes.size() - 4; i < bytes.size(); ++i) bytes[i] = '\xff';
    folder.put("lsh", bytes);
    expect_error([&] { verify_index(path); }, ErrorCode::corrupt_file, {"lsh."});
    const Index opened = Index::open(path);
    expect_error([&] { opened.search(rows.view().slice(0, 1), {.k = 1}); }, ErrorCode::corrupt_file,
                 {"row 4294967295 of 3000"});
  }
}

}  // namespace
}  // namespace nearfield
