// Codes as an index: what is found by tables is what a slow look at the codes finds.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nearfield/index.hpp>
#include <nearfield/knn.hpp>
#include <nearfield/quantize.hpp>

#include "core/decode.hpp"
#include "filter/filter.hpp"
#include "tests/oracle/data.hpp"
#include "tests/unit/expect_error.hpp"
#include "tests/unit/index/same_answers.hpp"
#include "tests/unit/index/small_parts.hpp"
#include "tests/unit/io/temp_folder.hpp"

namespace nearfield {
namespace {

using test::expect_error;
using test::expect_same_answers;
using test::TempFolder;

Matrix gaussian(DType dtype, std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  return data::make_matrix({data::Kind::gaussian, dtype, rows, cols, seed});
}

IndexSpec coded_spec(const std::string& family, DType dtype, std::int64_t cols,
                     MetricSpec metric = Metric::sqeuclidean) {
  return {.family = family, .dtype = dtype, .cols = cols, .metric = metric};
}

bool found_by_codes(const Stats& stats) {
  return stats.plan.filter.find("tables of codes") != std::string::npos;
}

std::vector<double> decoded_row(MatrixView rows, std::int64_t row) {
  std::vector<double> values(static_cast<std::size_t>(rows.cols()));
  decode_row(rows.dtype(), rows.row(row), rows.cols(), values.data());
  return values;
}

// Keys of what the codes of rows stand for, in float64, and how far float32 may be off.
class SlowCodes {
 public:
  SlowCodes(MatrixView rows, const QuantizerOptions& options, Metric metric, double lost)
      : metric_(metric), lost_(lost) {
    const Quantizer quantizer = Quantizer::train(rows, options);
    stands_for_ = quantizer.decode(quantizer.encode(rows));
  }

  double key(const std::vector<double>& query, std::int64_t row) const {
    const std::vector<double> x = decoded_row(stands_for_, row);
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      sum += metric_ == Metric::inner_product ? -query[i] * x[i]
                                              : (query[i] - x[i]) * (query[i] - x[i]);
    }
    return sum;
  }
  double slack(const std::vector<double>& query, std::int64_t row) const {
    const std::vector<double> x = decoded_row(stands_for_, row);
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += query[i] * query[i] + x[i] * x[i];
    return lost_ * sum;
  }

  // That each has its key, and that nobody who is nearer was missed.
  void expect_nearest(MatrixView queries, const Neighbors& found) const {
    for (std::int64_t query = 0; query < queries.rows(); ++query) {
      const std::vector<double> asked = decoded_row(queries, query);
      const auto ids = found.ids_of(query);
      const auto keys = found.keys_of(query);
      EXPECT_TRUE(std::ranges::is_sorted(keys));
      for (std::size_t i = 0; i < ids.size(); ++i) {
        EXPECT_NEAR(keys[i], key(asked, ids[i]), slack(asked, ids[i]));
      }
      for (std::int64_t row = 0; row < stands_for_.rows(); ++row) {
        if (std::ranges::find(ids, row) != ids.end()) continue;
        EXPECT_GE(key(asked, row) + slack(asked, row), keys.back()) << query << " " << row;
      }
    }
  }

 private:
  Metric metric_;
  double lost_;
  Matrix stands_for_;
};

struct CodedCase {
  std::string parameters;
  QuantizerOptions options;
  double lost = 1e-5;  // a byte of a norm loses more
};

std::vector<CodedCase> coded_cases() {
  const auto options = [](QuantizerKind kind, int codebooks, int bits) {
    QuantizerOptions options;
    options.kind = kind;
    options.codebooks = codebooks;
    options.bits = bits;
    options.iterations = 3;
    if (kind == QuantizerKind::lsq) options.rounds = 2;
    return options;
  };
  return {{"kind=pq,codebooks=4", options(QuantizerKind::pq, 4, 8)},
          {"kind=pq,codebooks=7,bits=4", options(QuantizerKind::pq, 7, 4)},
          {"kind=opq,codebooks=8,bits=4", options(QuantizerKind::opq, 8, 4)},
          {"kind=opq,codebooks=3", options(QuantizerKind::opq, 3, 8)},
          {"kind=rq,codebooks=4,bits=4,beam=8", options(QuantizerKind::rq, 4, 4)},
          {"kind=lsq,codebooks=3", options(QuantizerKind::lsq, 3, 8)},
          {"kind=lsq,codebooks=5,bits=4", options(QuantizerKind::lsq, 5, 4)},
          {"kind=lsq,codebooks=2,norms=byte", options(QuantizerKind::lsq, 2, 8), 4e-2}};
}

constexpr std::int64_t kRows = 1'500;

std::string family_of(const CodedCase& one, const std::string& more) {
  const bool searches = one.options.kind == QuantizerKind::lsq;
  return "coded,iterations=3,train=1500," + one.parameters + (searches ? ",rounds=2" : "") + more;
}

TEST(Coded, FindsTheNearestByTheirCodes) {
  const TempFolder folder;
  for (const CodedCase& one : coded_cases()) {
    for (const Metric metric : {Metric::sqeuclidean, Metric::euclidean, Metric::inner_product}) {
      if (metric == Metric::inner_product && one.parameters.find("norms") != std::string::npos) {
        continue;
      }
      SCOPED_TRACE(one.parameters + " " + std::string(to_string(MetricSpec(metric))));
      const DType dtype = metric == Metric::euclidean ? DType::u8 : DType::f32;
      const Matrix rows = gaussian(dtype, kRows, 12, 1);
      const Matrix queries = gaussian(dtype, 9, 12, 2);
      Index index(coded_spec(family_of(one, ",rerank=0"), dtype, 12, metric));
      index.add(rows);
      const Neighbors found = index.search(queries, {.k = 20});
      EXPECT_FALSE(found.exact);
      EXPECT_TRUE(std::isnan(found.stats.plan.expected_recall));
      EXPECT_TRUE(found_by_codes(found.stats)) << found.stats.plan.filter;
      const SlowCodes slow(rows, one.options, metric, one.lost);
      slow.expect_nearest(queries, found);

      // One query at a time, on any ISA, with any number of threads.
      for (std::int64_t query = 0; query < queries.rows(); ++query) {
        const Neighbors alone = index.search(queries.view().slice(query, 1), {.k = 20});
        EXPECT_TRUE(std::ranges::equal(alone.ids, found.ids_of(query)));
        EXPECT_TRUE(std::ranges::equal(alone.keys, found.keys_of(query)));
      }
      for (const Isa isa : available_isas()) {
        expect_same_answers(index.search(queries, {.k = 20}, {.isa = isa}), found);
      }
      for (const int threads : {1, 3, 8}) {
        expect_same_answers(index.search(queries, {.k = 20}, {.threads = threads}), found);
      }

      // From a file, and with rows that come and go.
      index.save(folder.path("coded"));
      verify_index(folder.path("coded"));
      Index opened = Index::open(folder.path("coded"));
      const Neighbors again = opened.search(queries, {.k = 20});
      EXPECT_TRUE(found_by_codes(again.stats));
      expect_same_answers(again, found);
      std::vector<std::int64_t> ids;
      for (std::int64_t id = 0; id < 40; ++id) ids.push_back(10'000 + id);
      for (Index* const changed : {&index, &opened}) {
        changed->add(rows.view().slice(100, 40), ids);
        EXPECT_EQ(changed->search(rows.view().slice(100, 40), {.k = 50}).exact, false);
        changed->remove(ids);
        expect_same_answers(changed->search(queries, {.k = 20}), found);
        changed->compact();
        expect_same_answers(changed->search(queries, {.k = 20}), found);
      }
    }
  }
}

// What is longer than all that the levels of norms were made of has a key that is right
// nonetheless, but for half a step between levels.
TEST(Coded, KeysOfLongerRowsThatComeLaterAreRight) {
  const CodedCase one = coded_cases().back();
  const Matrix rows = gaussian(DType::f32, kRows, 12, 16);
  Matrix longer = gaussian(DType::f32, 60, 12, 17);
  for (std::int64_t row = 0; row < longer.rows(); ++row) {
    auto* const values = reinterpret_cast<float*>(longer.row(row));
    for (std::int64_t i = 0; i < longer.cols(); ++i) values[i] *= 4;
  }
  Index index(coded_spec(family_of(one, ",vectors=none"), DType::f32, 12));
  index.add(rows);
  const std::int64_t first = index.add(longer);
  const Quantizer quantizer = Quantizer::train(rows, one.options);
  const auto norms_of = [](MatrixView about) {
    std::vector<double> norms;
    for (std::int64_t row = 0; row < about.rows(); ++row) {
      double sum = 0;
      for (const double value : decoded_row(about, row)) sum += value * value;
      norms.push_back(sum);
    }
    return norms;
  };
  const Matrix about = quantizer.decode(quantizer.encode(longer));
  const std::vector<double> norms = norms_of(about);
  EXPECT_GT(std::ranges::max(norms),
            std::ranges::max(norms_of(quantizer.decode(quantizer.encode(rows)))));
  const Neighbors found = index.search(longer, {.k = kRows + longer.rows()});
  for (std::int64_t query = 0; query < longer.rows(); ++query) {
    const auto ids = found.ids_of(query);
    const auto at = std::ranges::find(ids, first + query) - ids.begin();
    ASSERT_LT(at, std::ssize(ids));
    const std::vector<double> asked = decoded_row(longer, query);
    const std::vector<double> stands_for = decoded_row(about, query);
    double key = 0;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      key += (asked[i] - stands_for[i]) * (asked[i] - stands_for[i]);
    }
    const double norm = norms[static_cast<std::size_t>(query)];
    EXPECT_NEAR(found.keys_of(query)[static_cast<std::size_t>(at)], key, 0.08 * norm) << query;
  }
}

TEST(Coded, FiltersBeforeItChooses) {
  const Matrix rows = gaussian(DType::f32, kRows, 12, 3);
  const Matrix queries = gaussian(DType::f32, 20, 12, 4);
  std::vector<std::int64_t> ids;
  for (std::int64_t id = 0; id < kRows; id += 7) ids.push_back(id);
  for (const std::string rerank : {",rerank=0", ",rerank=25"}) {
    Index index(coded_spec(family_of(coded_cases()[0], rerank), DType::f32, 12));
    index.add(rows);
    Index few(coded_spec(family_of(coded_cases()[0], rerank), DType::f32, 12));
    few.add(rows);
    std::vector<std::int64_t> others;
    for (std::int64_t id = 0; id < kRows; ++id) {
      if (id % 7 != 0) others.push_back(id);
    }
    few.remove(others);
    const Neighbors expected = few.search(queries, {.k = 10});
    EXPECT_EQ(expected.counts, std::vector<std::int64_t>(20, 10));
    expect_same_answers(index.search(queries, {.k = 10, .filter = {IdFilter::Kind::only, ids}}),
                        expected);
    expect_same_answers(
        index.search(queries, {.k = 10, .filter = {IdFilter::Kind::without, others}}), expected);
  }
}

TEST(Coded, VectorsDecideAmongTheNearestByCodes) {
  const Matrix rows = gaussian(DType::f32, kRows, 12, 5);
  const Matrix queries = gaussian(DType::f32, 30, 12, 6);
  const Neighbors truth = knn(queries, rows, {.k = 10});
  for (const CodedCase& one : coded_cases()) {
    SCOPED_TRACE(one.parameters);
    const auto search = [&](const std::string& rerank, std::int64_t k) {
      Index index(coded_spec(family_of(one, rerank), DType::f32, 12));
      index.add(rows);
      return index.search(queries, {.k = k});
    };
    // Where all are looked at, nothing is missed.
    expect_same_answers(search(",rerank=1500", 10), truth);
    const Neighbors found = search(",rerank=40", 10);
    EXPECT_FALSE(found.exact);
    EXPECT_TRUE(found_by_codes(found.stats));
    EXPECT_NE(found.stats.plan.note.find("nearest 40"), std::string::npos);
    EXPECT_EQ(found.stats.pairs_considered, 30 * (kRows + 40));
    const Neighbors near = search(",rerank=0", 40);
    for (std::int64_t query = 0; query < 30; ++query) {
      std::vector<Neighbor> expected;
      const Neighbors all = knn(queries.view().slice(query, 1), rows, {.k = kRows});
      for (std::size_t i = 0; i < all.ids.size() && expected.size() < 10; ++i) {
        if (std::ranges::find(near.ids_of(query), all.ids[i]) == near.ids_of(query).end()) continue;
        expected.push_back({all.keys[i], all.ids[i]});
      }
      for (std::size_t i = 0; i < 10; ++i) {
        EXPECT_EQ(found.ids_of(query)[i], expected[i].id);
        EXPECT_EQ(found.keys_of(query)[i], expected[i].key);
      }
    }
  }
}

TEST(Coded, ManyQueriesAreRerankedInBatches) {
  const Matrix rows = gaussian(DType::f32, kRows, 12, 16);
  const Matrix queries = gaussian(DType::f32, 900, 12, 17);
  Index index(coded_spec(family_of(coded_cases()[0], ",rerank=1500"), DType::f32, 12));
  index.add(rows);
  std::vector<Progress> reports;
  Context watched;
  watched.progress = [&](const Progress& progress) { reports.push_back(progress); };
  // 64 MB are 740 queries, each of 90 KB.
  const Neighbors found = index.search(queries, {.k = 10}, watched);
  expect_same_answers(found, knn(queries, rows, {.k = 10}));
  EXPECT_FALSE(found.exact);
  EXPECT_EQ(found.stats.pairs_considered, 900 * 2 * kRows);
  ASSERT_FALSE(reports.empty());
  EXPECT_EQ(reports.back().done, reports.back().total);
  EXPECT_EQ(reports.back().total, 900 * 2 * kRows);
  EXPECT_TRUE(std::ranges::is_sorted(reports, {}, &Progress::done));
  // And of a limit a quarter.
  expect_same_answers(index.search(queries, {.k = 10}, {.memory_limit = 16 << 20}), found);
  // Results of 27 MB are refused before the first batch, not when half of them are there.
  reports.clear();
  watched.memory_limit = 20 << 20;
  expect_error([&] { index.search(queries, {.k = 1'500}, watched); }, ErrorCode::memory_limit,
               {"results of 900 queries"});
  EXPECT_TRUE(reports.empty());
}

TEST(Coded, FindsWhatIsWithinARadius) {
  const Matrix rows = gaussian(DType::f32, kRows, 12, 7);
  const Matrix queries = gaussian(DType::f32, 10, 12, 8);
  const CodedCase one = coded_cases()[5];
  Index by_codes(coded_spec(family_of(one, ",rerank=0"), DType::f32, 12));
  Index by_rows(coded_spec(family_of(one, ",rerank=1"), DType::f32, 12));
  by_codes.add(rows);
  by_rows.add(rows);
  const Neighbors all = by_codes.search(queries, {.k = kRows});
  const double radius = all.keys_of(0)[50];
  const Ranges coded = by_codes.within(queries, {.radius = radius});
  const Ranges verified = by_rows.within(queries, {.radius = radius});
  EXPECT_FALSE(coded.exact);
  EXPECT_FALSE(verified.exact);
  for (std::int64_t query = 0; query < 10; ++query) {
    const auto q = static_cast<std::size_t>(query);
    const auto keys = all.keys_of(query);
    const std::int64_t within = std::ranges::upper_bound(keys, radius) - keys.begin();
    ASSERT_EQ(coded.offsets[q + 1] - coded.offsets[q], within);
    std::vector<std::int64_t> expected;
    const Neighbors truth = knn(queries.view().slice(query, 1), rows, {.k = kRows});
    for (std::size_t i = 0; i < truth.ids.size() && truth.keys[i] <= radius; ++i) {
      const auto near = all.ids_of(query).first(static_cast<std::size_t>(within));
      if (std::ranges::find(near, truth.ids[i]) != near.end()) expected.push_back(truth.ids[i]);
    }
    EXPECT_TRUE(std::ranges::equal(
        std::span(verified.ids)
            .subspan(static_cast<std::size_t>(verified.offsets[q]),
                     static_cast<std::size_t>(verified.offsets[q + 1] - verified.offsets[q])),
        expected));
  }
}

TEST(Coded, TheSameRowsMakeTheSameFile) {
  const TempFolder folder;
  const Matrix rows = gaussian(DType::f32, 20'000, 9, 9);
  for (const std::string family :
       {"coded,kind=opq,codebooks=4,bits=4,iterations=2,train=2000",
        "coded,kind=lsq,codebooks=2,bits=4,iterations=2,rounds=1,train=2000"}) {
    std::string first;
    for (const int threads : {1, 3}) {
      for (const std::int64_t piece : {20'000, 4'999}) {
        Index index(coded_spec(family, DType::f32, 9));
        // The first must be the same: codebooks are trained on it.
        index.add(rows.view().slice(0, 4'000), {.threads = threads});
        for (std::int64_t row = 4'000; row < 20'000; row += piece) {
          index.add(rows.view().slice(row, std::min(piece, 20'000 - row)), {.threads = threads});
        }
        index.save(folder.path("coded"), {.threads = threads});
        const std::string bytes = folder.get("coded");
        if (first.empty()) first = bytes;
        EXPECT_TRUE(bytes == first) << family << " " << threads << " " << piece;
      }
    }
  }
}

TEST(Coded, FewRowsAreScanned) {
  const TempFolder folder;
  const Matrix rows = gaussian(DType::f32, 600, 6, 10);
  Index index(coded_spec("coded,bits=4,train=500", DType::f32, 6));
  index.add(rows.view().slice(0, 499));
  EXPECT_TRUE(index.search(rows, {.k = 5}).exact);
  index.save(folder.path("few"));
  verify_index(folder.path("few"));
  Index opened = Index::open(folder.path("few"));
  expect_same_answers(opened.search(rows, {.k = 5}), index.search(rows, {.k = 5}));
  index.add(rows.view().slice(499, 101));
  EXPECT_FALSE(index.search(rows, {.k = 5}).exact);
}

TEST(Coded, RowsAndQueriesThatAreNotFiniteAreNeverFound) {
  const TempFolder folder;
  Matrix rows = gaussian(DType::f32, kRows, 12, 11);
  reinterpret_cast<float*>(rows.row(5))[3] = std::numeric_limits<float>::quiet_NaN();
  reinterpret_cast<float*>(rows.row(6))[0] = std::numeric_limits<float>::infinity();
  for (const CodedCase& one : coded_cases()) {
    for (const std::string rerank : {",rerank=0", ",rerank=1500"}) {
      SCOPED_TRACE(one.parameters + rerank);
      Index index(coded_spec(family_of(one, rerank), DType::f32, 12));
      index.add(rows);
      const Neighbors found = index.search(rows.view().slice(4, 4), {.k = kRows});
      for (const std::int64_t id : found.ids) EXPECT_TRUE(id != 5 && id != 6);
      EXPECT_EQ(found.counts, (std::vector<std::int64_t>{kRows - 2, 0, 0, kRows - 2}));
      index.save(folder.path("coded"));
      verify_index(folder.path("coded"));
    }
  }
}

TEST(Coded, SaysWhatItDoesNotTake) {
  const auto make = [](const std::string& family, DType dtype = DType::f32,
                       Metric metric = Metric::sqeuclidean) {
    return [=] { Index{coded_spec(family, dtype, 8, metric)}; };
  };
  const auto wrong = [&](const std::string& family, std::initializer_list<std::string_view> words) {
    expect_error(make(family), ErrorCode::invalid_argument, words);
  };
  wrong("coded,rounds=4", {"'rounds' belongs to lsq", "pq"});
  wrong("coded,kind=lsq,beam=4", {"'beam' belongs to rq", "lsq"});
  expect_error(make("coded", DType::bits, Metric::hamming), ErrorCode::invalid_argument,
               {"floats and bytes", "bits", "use mih"});
  expect_error(make("coded", DType::f32, Metric::l1), ErrorCode::invalid_argument, {"l1", "flat"});
  expect_error(make("coded", DType::f32, Metric::cosine), ErrorCode::invalid_argument,
               {"cosine", "one length"});
  wrong("coded,kind=x", {"'x'", "pq, opq, rq, lsq"});
  wrong("coded,codebooks=65", {"codebooks", "65"});
  wrong("coded,codebooks=9", {"8 columns", "9 codebooks"});
  wrong("coded,bits=5", {"bits is 5", "4 or 8"});
  wrong("coded,norms=byte", {"'norms'", "rq and lsq", "pq"});
  wrong("coded,kind=lsq,norms=short", {"'short'", "exact and byte"});
  wrong("coded,train=255", {"'train'", "256", "255"});
  wrong("coded,rerank=-1", {"'rerank'", "-1"});
  wrong("coded,radius=3", {"'radius'", "kind, codebooks, bits"});

  Index index(coded_spec("coded,bits=4,train=100", DType::f64, 3));
  Matrix rows = gaussian(DType::f64, 200, 3, 12);
  index.add(rows);
  Matrix large = gaussian(DType::f64, 2, 3, 13);
  reinterpret_cast<double*>(large.row(1))[2] = 2e15;
  expect_error([&] { index.add(large); }, ErrorCode::invalid_argument,
               {"vector 1", "2e+15", "1e+15", "use flat"});
  Index without_codes(coded_spec("coded,bits=4,train=100", DType::f64, 3));
  expect_error([&] { without_codes.add(large); }, ErrorCode::invalid_argument, {"vector 1"});
  EXPECT_EQ(index.size(), 200);
  expect_error([&] { index.search(large, {.k = 1}); }, ErrorCode::invalid_argument,
               {"query 1", "1e+15"});
  const Matrix other = gaussian(DType::f64, 2, 4, 12);
  expect_error([&] { index.search(other, {.k = 1}); }, ErrorCode::invalid_argument, {"3", "4"});
  expect_error([&] { index.search(rows, {.k = -1}); }, ErrorCode::invalid_argument, {"-1"});
}

TEST(Coded, KeepsToItsContext) {
  const Matrix rows = gaussian(DType::f32, 20'000, 16, 14);
  Index index(coded_spec("coded,bits=4,iterations=2,train=4000", DType::f32, 16));
  index.add(rows.view().slice(0, 10'000), {.memory_limit = 3 << 20});  // without codes
  EXPECT_TRUE(index.search(rows.view().slice(0, 1), {.k = 1}).exact);
  index.add(rows.view().slice(10'000, 10'000));
  EXPECT_FALSE(index.search(rows.view().slice(0, 1), {.k = 1}).exact);

  const Context cancelled;
  cancelled.cancel.cancel();
  expect_error([&] { index.search(rows, {.k = 2}, cancelled); }, ErrorCode::cancelled, {});
  expect_error([&] { Index(index.spec()).add(rows, cancelled); }, ErrorCode::cancelled, {});
  expect_error([&] { index.search(rows, {.k = 2}, {.memory_limit = 1 << 16}); },
               ErrorCode::memory_limit, {});

  std::vector<Progress> reports;
  Context watched;
  watched.progress = [&](const Progress& progress) { reports.push_back(progress); };
  index.search(rows.view().slice(0, 300), {.k = 3}, watched);
  ASSERT_FALSE(reports.empty());
  EXPECT_EQ(reports.back().done, reports.back().total);
}

// One thread encodes 400 vectors of this one, all in one piece, for a good part of a second.
IndexSpec slowly_coded() {
  return coded_spec("coded,kind=lsq,codebooks=4,iterations=1,rounds=1000,train=300", DType::f32,
                    12);
}

// A call that takes long without a deadline ends soon after one.
template <class Call>
void expect_deadline_kept(const Call& call) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  call(Context{.threads = 1});
  const Clock::time_point end = Clock::now();
  const auto whole = end - begin;
  expect_error([&] { call(Context{.threads = 1, .deadline = end + whole / 10}); },
               ErrorCode::deadline_exceeded, {});
  EXPECT_LT(Clock::now() - end, whole * 2 / 3);
}

TEST(Coded, VerifyingKeepsToItsContext) {
  const TempFolder folder;
  const std::string path = folder.path("slow");
  Index index(slowly_coded());
  index.add(gaussian(DType::f32, 400, 12, 18));
  index.save(path);
  expect_deadline_kept([&](const Context& context) { verify_index(path, {}, context); });

  const Context cancelled;
  cancelled.cancel.cancel();
  expect_error([&] { verify_index(path, {}, cancelled); }, ErrorCode::cancelled, {});
  expect_error([&] { verify_index(path, {}, {.memory_limit = 1 << 16}); }, ErrorCode::memory_limit,
               {"65536", "raise it"});
}

// Whose vectors were added where memory was short have no codes: saving makes them.
TEST(Coded, SavingKeepsToItsContext) {
  const TempFolder folder;
  const std::string path = folder.path("slow");
  Index index(slowly_coded());
  index.add(gaussian(DType::f32, 400, 12, 18), {.memory_limit = 1 << 20});
  index.save(path);  // trains, too
  expect_deadline_kept([&](const Context& context) { index.save(path, context); });
}

std::vector<std::int64_t> first_ids(std::int64_t count) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

// Codebooks are trained where so many rows are left; of those that were removed there are enough.
TEST(Coded, SavingTrainsOnWhatIsLeft) {
  const TempFolder folder;
  const Matrix rows = gaussian(DType::f32, 10'000, 16, 14);
  Index index(coded_spec("coded,bits=4,iterations=2,train=4000", DType::f32, 16));
  index.add(rows, {.memory_limit = 3 << 20});
  index.remove(first_ids(7'000));
  index.save(folder.path("few"), {.memory_limit = 6 << 20});
  const Index opened = Index::open(folder.path("few"));
  EXPECT_EQ(opened.size(), 3'000);
  EXPECT_TRUE(opened.search(rows.view().slice(0, 1), {.k = 1}).exact);
}

// Which takes no memory of those that would encode.
TEST(Coded, CodesThatAreThereAreMoved) {
  const TempFolder folder;
  Index index(
      coded_spec("coded,kind=lsq,codebooks=16,bits=4,iterations=1,rounds=1,train=500,vectors=none",
                 DType::f32, 32));
  index.add(gaussian(DType::f32, 2'000, 32, 14));
  index.remove(first_ids(100));
  const Context small{.threads = 8, .memory_limit = 6 << 20};
  Index uncoded(index.spec());
  uncoded.add(gaussian(DType::f32, 2'000, 32, 14), small);
  expect_error([&] { uncoded.save(folder.path("coded"), small); }, ErrorCode::memory_limit,
               {"2000 vectors"});
  index.save(folder.path("moved"), small);
  EXPECT_EQ(Index::open(folder.path("moved")).size(), 1'900);
  index.compact(small);
  EXPECT_EQ(index.size(), 1'900);
}

// What parts share is counted once, and is in no file.
TEST(Coded, CodebooksAreCountedOnce) {
  const TempFolder folder;
  Index index(coded_spec("coded,codebooks=4,iterations=1,train=500,rerank=0", DType::f32, 512));
  index.add(gaussian(DType::f32, 500, 512, 14));
  index.save(folder.path("shared"));
  Index opened = Index::open(folder.path("shared"));
  const std::int64_t before = opened.stats().bytes;
  opened.add(gaussian(DType::f32, 1, 512, 15));
  constexpr std::int64_t kBooks = 4 * 256 * 512 * 4;
  EXPECT_LT(opened.stats().bytes - before, kBooks);
  EXPECT_LT(opened.stats().mapped, before - kBooks);
}

TEST(Coded, AFileThatWasChangedIsNoticed) {
  const TempFolder folder;
  const Matrix rows = gaussian(DType::f32, kRows, 12, 15);
  for (const CodedCase& one : coded_cases()) {
    SCOPED_TRACE(one.parameters);
    Index index(coded_spec(family_of(one, ""), DType::f32, 12));
    index.add(rows);
    index.save(folder.path("coded"));
    const std::string bytes = folder.get("coded");
    for (std::size_t at = 64; at < bytes.size(); at += bytes.size() / 97) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ 0x55);
      folder.put("changed", changed);
      try {
        const Index opened = Index::open(folder.path("changed"));
        opened.search(rows.view().slice(0, 5), {.k = 3});  // anything but a crash
      } catch (const Error&) {
      }
      EXPECT_THROW(verify_index(folder.path("changed")), Error) << at;
    }
  }
}

}  // namespace
}  // namespace nearfield
