// The family that fits: the answers of flat, and a plan that says what was estimated.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nearfield/index.hpp>

#include "core/random.hpp"
#include "index/ewh/ewh_tuning.hpp"
#include "index/mih/mih_tuning.hpp"
#include "io/tensor_file.hpp"
#include "tests/unit/expect_error.hpp"
#include "tests/unit/index/bit_codes.hpp"
#include "tests/unit/io/temp_folder.hpp"

namespace nearfield {
namespace {

using test::bits_spec;
using test::expect_error;
using test::flip_some;
using test::TempFolder;

constexpr std::int64_t kBits = 256;

Matrix random_codes(std::int64_t rows, std::uint64_t seed) {
  Matrix codes(DType::bits, rows, kBits);
  Random random(seed);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t byte = 0; byte < kBits / 8; ++byte) {
      codes.row(row)[byte] = static_cast<std::byte>(random.below(256));
    }
  }
  return codes;
}

Index index_of(const std::string& family, MatrixView rows) {
  Index index(bits_spec(family, kBits));
  index.add(rows);
  return index;
}

bool says(const Stats& stats, const std::string& text) {
  return (stats.plan.filter + stats.plan.note).find(text) != std::string::npos;
}

TEST(AutoIndex, AnswersAsFlatAndExplainsWhatItChose) {
  const TempFolder folder;
  const Matrix rows = random_codes(20'000, 1);
  Matrix queries = random_codes(6, 2);
  std::copy_n(rows.row(17), 32, queries.row(3));
  queries.row(3)[5] ^= std::byte{3};
  const Index flat = index_of("flat", rows);
  const Index fitting = index_of("auto", rows);
  fitting.save(folder.path("auto"));
  verify_index(folder.path("auto"));
  const Index opened = Index::open(folder.path("auto"));
  for (const Index* const index : {static_cast<const Index*>(&fitting), &opened}) {
    for (const double radius : {0.0, 2.0, 120.0}) {
      const Ranges found = index->within(queries, {.radius = radius});
      EXPECT_EQ(found.ids, flat.within(queries, {.radius = radius}).ids);
      EXPECT_TRUE(found.exact);
      EXPECT_TRUE(says(found.stats, "ms by lookups")) << found.stats.plan.note;
      // So few bits are looked up; for nearly half of them every bucket would be asked.
      EXPECT_EQ(says(found.stats, "multi-index hashing"), radius < 100) << radius;
    }
    const Neighbors found = index->search(queries, {.k = 3});
    EXPECT_EQ(found.ids, flat.search(queries, {.k = 3}).ids);
    EXPECT_TRUE(says(found.stats, "at least"));
  }
}

TEST(AutoIndex, ScansWhatHasNoTables) {
  Index index({.family = "auto", .dtype = DType::f32, .cols = 2, .metric = Metric::euclidean});
  const std::vector<float> rows{0, 0, 1, 0, 5, 5};
  index.add(MatrixView(rows.data(), 3, 2));
  const Neighbors found = index.search(MatrixView(rows.data() + 2, 1, 2), {.k = 2});
  EXPECT_EQ(found.ids, (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(found.stats.plan.note, "");
  EXPECT_EQ(index.within(MatrixView(rows.data(), 1, 2), {.radius = 1}).ids,
            (std::vector<std::int64_t>{0, 1}));
}

// Scores are taken to cost nothing, or lookups and scans to, as long as it lives.
class OneWayCostsNothing {
 public:
  enum class Way { scores, lookups };
  explicit OneWayCostsNothing(Way way) {
    if (way == Way::scores) {
      EwhTuning& scores = ewh_tuning();
      scores.query = scores.lookup = scores.touch = scores.score = scores.verify = 0;
    } else {
      MihTuning& lookups = mih_tuning();
      lookups.query = lookups.lookup = lookups.candidate = 0;
    }
  }
  ~OneWayCostsNothing() {
    ewh_tuning() = {};
    mih_tuning() = {};
  }
  OneWayCostsNothing(const OneWayCostsNothing&) = delete;
  OneWayCostsNothing& operator=(const OneWayCostsNothing&) = delete;
};
using Way = OneWayCostsNothing::Way;

constexpr const char* kScoring = "auto,recall=0.9,near=20";
constexpr std::int64_t kNearQueries = 100;

// The first of them differ from a row in 1 to 20 bits; there is nothing near the others.
Matrix near_and_far_queries(const Matrix& rows, std::int64_t far) {
  Matrix queries = random_codes(kNearQueries + far, 7);
  Random random(8);
  for (std::int64_t i = 0; i < kNearQueries; ++i) {
    std::copy_n(rows.row(random.below(rows.rows())), kBits / 8, queries.row(i));
    flip_some(queries.row(i), kBits, 1 + random.below(20), random);
  }
  return queries;
}

TEST(AutoIndex, ScoresOnlyWhereARecallIsAllowedAndReached) {
  const TempFolder folder;
  const Matrix rows = random_codes(20'000, 1);
  const Matrix queries = near_and_far_queries(rows, 10);
  const Index flat = index_of("flat", rows);
  const Index exact = index_of("auto", rows);
  const Index made = index_of(kScoring, rows);
  made.save(folder.path("auto"));
  verify_index(folder.path("auto"));
  const Index opened = Index::open(folder.path("auto"));
  const OneWayCostsNothing tuning(Way::scores);
  EXPECT_TRUE(exact.within(queries, {.radius = 20}).exact);
  EXPECT_TRUE(exact.search(queries, {.k = 1}).exact);
  for (const Index* const index : {&made, &opened}) {
    const Ranges near = index->within(queries, {.radius = 20});
    EXPECT_FALSE(near.exact);
    EXPECT_TRUE(says(near.stats, "error-weighted hashing")) << near.stats.plan.filter;
    EXPECT_TRUE(says(near.stats, "for what differs in 20 bits")) << near.stats.plan.note;
    for (const char* const way :
         {"ms by lookups", "ms by a scan", "ms by scores, which find 0.9"}) {
      EXPECT_TRUE(says(near.stats, way)) << near.stats.plan.note;
    }
    EXPECT_GE(near.stats.plan.expected_recall, 0.9);
    EXPECT_GE(std::ssize(near.ids), kNearQueries * 9 / 10);
    // So far scores would find less than what is asked for.
    const Ranges far = index->within(queries, {.radius = 90});
    EXPECT_TRUE(far.exact);
    EXPECT_FALSE(says(far.stats, "error-weighted hashing"));
    EXPECT_EQ(far.ids, flat.within(queries, {.radius = 90}).ids);
  }
}

TEST(AutoIndex, ScansWhatScoresFindNothingNearFor) {
  const Matrix rows = random_codes(20'000, 1);
  const Matrix queries = near_and_far_queries(rows, 30);
  const Index flat = index_of("flat", rows);
  const Index scoring = index_of(kScoring, rows);
  const OneWayCostsNothing tuning(Way::scores);
  const Neighbors want = flat.search(queries, {.k = 1});
  std::vector<Progress> reports;
  Context watched;
  watched.progress = [&](const Progress& progress) { reports.push_back(progress); };
  const Neighbors found = scoring.search(queries, {.k = 1}, watched);
  EXPECT_FALSE(found.exact);
  EXPECT_TRUE(says(found.stats, "error-weighted hashing"));
  EXPECT_TRUE(says(found.stats, "of 130 queries were scanned")) << found.stats.plan.note;
  EXPECT_GE(found.stats.plan.expected_recall, 0.9);
  EXPECT_LT(found.stats.plan.expected_recall, 1);
  std::int64_t right = 0;
  for (std::int64_t query = 0; query < queries.rows(); ++query) {
    const bool same = found.ids_of(query)[0] == want.ids_of(query)[0];
    right += same ? 1 : 0;
    if (query >= kNearQueries) {
      EXPECT_TRUE(same) << query;
      EXPECT_EQ(found.distances_of(query)[0], want.distances_of(query)[0]);
    }
  }
  EXPECT_GE(right, queries.rows() * 9 / 10);
  for (std::size_t i = 1; i < reports.size(); ++i) EXPECT_GE(reports[i].done, reports[i - 1].done);
  ASSERT_FALSE(reports.empty());
  EXPECT_EQ(reports.back().done, reports.back().total);

  // Alone they are all scanned, and the answer is exact.
  const Neighbors far = scoring.search(queries.view().slice(kNearQueries, 30), {.k = 1});
  EXPECT_TRUE(far.exact);
  EXPECT_EQ(far.stats.plan.expected_recall, 1);
  EXPECT_TRUE(says(far.stats, "30 of 30 queries were scanned")) << far.stats.plan.note;
}

// Their format is theirs.
TEST(AutoIndex, AFileHoldsTheTablesOfBoth) {
  const TempFolder folder;
  const Matrix rows = random_codes(5'000, 1);
  index_of(kScoring, rows).save(folder.path("auto"));
  index_of("mih", rows).save(folder.path("mih"));
  index_of("ewh,recall=0.9,near=20", rows).save(folder.path("ewh"));
  const TensorFile both(folder.path("auto"));
  for (const std::string family : {"mih", "ewh"}) {
    const TensorFile alone(folder.path(family));
    EXPECT_GT(alone.bytes(alone.tensor(family + ".tables")).size(), 0u);
    for (const TensorEntry& tensor : alone.header().tensors) {
      if (!tensor.name.starts_with(family)) continue;
      EXPECT_TRUE(std::ranges::equal(alone.bytes(tensor), both.bytes(both.tensor(tensor.name))))
          << tensor.name;
    }
  }
}

TEST(AutoIndex, IsExactWhereThatTakesLess) {
  const Matrix rows = random_codes(20'000, 1);
  const Matrix queries = near_and_far_queries(rows, 10);
  const Index flat = index_of("flat", rows);
  Index scoring(bits_spec(kScoring, kBits));
  for (const std::int64_t first : {0, 10'000}) scoring.add(rows.view().slice(first, 10'000));
  const OneWayCostsNothing tuning(Way::lookups);
  const Ranges near = scoring.within(queries, {.radius = 20});
  EXPECT_TRUE(near.exact);
  EXPECT_EQ(near.ids, flat.within(queries, {.radius = 20}).ids);
  EXPECT_TRUE(says(near.stats, "multi-index hashing")) << near.stats.plan.filter;
  EXPECT_TRUE(says(near.stats, "ms by scores")) << near.stats.plan.note;
  const Neighbors nearest = scoring.search(queries.view().slice(0, kNearQueries), {.k = 1});
  EXPECT_TRUE(nearest.exact);
  EXPECT_TRUE(says(nearest.stats, "multi-index hashing"));
}

// Estimates lie close to each other, where threads or the number of queries could turn the choice:
// a scan of 20,000 codes is taken to cost 20.6 us of a thread for one of 8 queries, 111 for one
// alone and 19.1 for one of 20.
class OneCostOfScores {
 public:
  explicit OneCostOfScores(double nanoseconds) {
    mih_tuning().lookup = 1e9;
    EwhTuning& scores = ewh_tuning();
    scores.query = nanoseconds;
    scores.lookup = scores.touch = scores.score = scores.verify = 0;
  }
  ~OneCostOfScores() {
    ewh_tuning() = {};
    mih_tuning() = {};
  }
  OneCostOfScores(const OneCostOfScores&) = delete;
  OneCostOfScores& operator=(const OneCostOfScores&) = delete;
};

struct JudgedCost {
  double scores;  // nanoseconds
  bool nearest;   // whether they pay for the k nearest: less than a quarter of a scan
  bool within;
};

TEST(AutoIndex, TheChoiceHangsOnNeitherThreadsNorTheBatch) {
  const Matrix rows = random_codes(20'000, 1);
  const Matrix asked = near_and_far_queries(rows, 10);
  const MatrixView queries = asked.view().slice(kNearQueries - 10, 20);
  for (const auto& [cost, nearest, within] : {JudgedCost{4'800, true, true},
                                              {10'000, false, true},
                                              {19'500, false, true},
                                              {30'000, false, false}}) {
    const Index index = index_of(kScoring, rows);  // which remembers what it estimates
    const OneCostOfScores tuning(cost);
    const Ranges all = index.within(queries, {.radius = 20});
    const Neighbors best = index.search(queries, {.k = 1});
    EXPECT_EQ(all.exact, !within) << cost;
    EXPECT_EQ(best.exact, !nearest) << cost;
    for (const int threads : {1, 3, 8}) {
      Context context;
      context.threads = threads;
      for (const std::int64_t batch : {1, 8, 20}) {
        SCOPED_TRACE(std::to_string(cost) + " ns, threads " + std::to_string(threads) +
                     ", queries " + std::to_string(batch));
        std::vector<std::int64_t> ids;
        std::vector<std::int64_t> nearest_ids;
        for (std::int64_t first = 0; first < queries.rows(); first += batch) {
          const MatrixView some = queries.slice(first, std::min(batch, queries.rows() - first));
          const Ranges near = index.within(some, {.radius = 20}, context);
          EXPECT_EQ(near.exact, !within);
          ids.insert(ids.end(), near.ids.begin(), near.ids.end());
          const Neighbors found = index.search(some, {.k = 1}, context);
          nearest_ids.insert(nearest_ids.end(), found.ids.begin(), found.ids.end());
        }
        EXPECT_EQ(ids, all.ids);
        EXPECT_EQ(nearest_ids, best.ids);
      }
    }
  }
}

TEST(AutoIndex, ScoresLeaveOutWhatMayNotBeFound) {
  const Matrix rows = random_codes(5'000, 1);
  Index scoring = index_of(kScoring, rows);
  const OneWayCostsNothing tuning(Way::scores);
  scoring.remove(std::vector<std::int64_t>{3});
  const std::vector<std::int64_t> without{4};
  const Neighbors found = scoring.search(rows.view().slice(2, 4),
                                         {.k = 1, .filter = {IdFilter::Kind::without, without}});
  EXPECT_EQ(found.ids_of(0)[0], 2);
  EXPECT_NE(found.ids_of(1)[0], 3);
  EXPECT_NE(found.ids_of(2)[0], 4);
  EXPECT_EQ(found.ids_of(3)[0], 5);
  const std::vector<std::int64_t> listed{7, 9};
  const Neighbors of_few =
      scoring.search(rows.view().slice(7, 1), {.k = 2, .filter = {IdFilter::Kind::only, listed}});
  EXPECT_TRUE(of_few.exact);
  EXPECT_EQ(of_few.ids_of(0)[0], 7);
}

// What is sent does not change what is found: what was said is judged by.
TEST(AutoIndex, IsJudgedByTheBatchThatItIsMadeFor) {
  const Matrix rows = random_codes(20'000, 1);
  const Matrix queries = near_and_far_queries(rows, 20);
  double scan = 0;
  for (const std::int64_t batch : {1'000, 8, 1}) {
    const Index index = index_of(std::string(kScoring) + ",batch=" + std::to_string(batch), rows);
    const Stats stats = index.within(queries, {.radius = 20}).stats;
    EXPECT_TRUE(says(stats, "one of " + std::to_string(batch) + " queries")) << stats.plan.note;
    const std::string& note = stats.plan.note;
    const auto at = note.find("by lookups, ");
    ASSERT_NE(at, std::string::npos) << note;
    const double estimated = std::stod(note.substr(at + 12));
    EXPECT_GT(estimated, scan) << "a scan by fewer takes more of each";
    scan = estimated;
    EXPECT_EQ(index.within(queries.view().slice(0, 1), {.radius = 20}).stats.plan.note, note);
  }
}

TEST(AutoIndex, WrongParametersAreErrors) {
  const auto make = [](const IndexSpec& spec) { return [spec] { Index{spec}; }; };
  for (const auto& [family, said] : std::vector<std::pair<std::string, std::string>>{
           {"auto,tables=3", "it has recall, near and batch"},
           {"auto,near=3", "give a recall"},
           {"auto,batch=3", "give a recall"},
           {"auto,recall=0.9,batch=0", "batch"},
           {"auto,recall=1", "between 0 and 1"},
           {"auto,recall=0.9,near=257", "1 to 256"}}) {
    expect_error(make(bits_spec(family, kBits)), ErrorCode::invalid_argument, {said});
  }
  expect_error(make({.family = "auto,recall=0.9", .dtype = DType::f32, .cols = 2}),
               ErrorCode::invalid_argument, {"auto,recall=0.9", "packed bits under hamming"});
}

}  // namespace
}  // namespace nearfield
