// The contract of knn, swept in a fixed order: small enough to run under emulation too.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nearfield/nearfield.hpp>

#include "core/infinity.hpp"
#include "tests/contract/isa_sweep.hpp"
#include "tests/oracle/compare.hpp"
#include "tests/oracle/data.hpp"
#include "tests/oracle/oracle.hpp"

namespace nearfield::contract {
namespace {

using data::Kind;
using data::make_matrix;
using data::PiecewiseRows;
using data::RowChoice;
using data::Strided;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// ---- the oracle and the generators themselves ----

TEST(Oracle, EveryMetricHasAnOracle) {
  for (const MetricInfo& metric : metrics()) {
    EXPECT_TRUE(oracle::knows(metric.metric)) << metric.name << ": add it to tests/oracle";
  }
}

struct ByHand {
  MetricSpec metric;
  std::vector<double> query;
  std::vector<double> row;
  double key;
  float distance;
};

TEST(Oracle, AgreesWithKeysWorkedOutByHand) {
  constexpr double kBig = 1e200;
  const std::vector<ByHand> table = {
      {Metric::sqeuclidean, {1, 2, 3}, {1, 0, 6}, 13, 13},
      {Metric::euclidean, {3, 0}, {0, 4}, 25, 5},
      {Metric::inner_product, {1, 2}, {3, -4}, 5, -5},
      {Metric::inner_product, {1, 0}, {0, 1}, 0, 0},
      {Metric::cosine, {3, 4}, {6, 8}, -1, 1},
      {Metric::cosine, {3, 4}, {0, 0}, 0, 0},
      {Metric::l1, {1, -2}, {-3, 4}, 10, 10},
      {Metric::linf, {1, -2}, {-3, 4}, 6, 6},
      {lp(3), {1, 2}, {0, -1}, 28, 3.0365889718756622F},
      {lp(0.5), {4, 9}, {0, 0}, 5, 25},
      {lp(2.5), {4, 0}, {0, 0}, 32, 4},
      {lp(0.25), {16, 81}, {0, 0}, 5, 625},
      {Metric::sqeuclidean,
       {kBig},
       {-kBig},
       kFloatInfinity,
       kFloatInfinity},  // overflow keeps its id
      {Metric::inner_product, {kBig}, {kBig}, -kFloatInfinity, kFloatInfinity},
      {Metric::inner_product,
       {kBig, kBig},
       {kBig, -kBig},
       kFloatInfinity,
       -kFloatInfinity},  // inf - inf
      // Elements 0 and 8 share a partial sum, 0 and 1 do not: 1e16 + 1 loses the 1.
      {Metric::inner_product,
       {1e16, 0, 0, 0, 0, 0, 0, 0, 1, -1e16},
       std::vector<double>(10, 1),
       0,
       0},
      // The tree: 0 with 4 before 0 with 2, and 0 with 2 before 0 with 1.
      {Metric::inner_product, {1e16, 0, 1, 0, -1e16}, {1, 1, 1, 1, 1}, -1, 1},
      {Metric::inner_product, {1e16, 0, -1e16, 0, 1}, {1, 1, 1, 1, 1}, 0, 0},
      {Metric::inner_product, {1e16, 1, -1e16}, {1, 1, 1}, -1, 1},
      {Metric::inner_product, {1e16, -1e16, 1}, {1, 1, 1}, 0, 0},
  };
  for (const ByHand& c : table) {
    const std::int64_t d = static_cast<std::int64_t>(c.query.size());
    const oracle::Answer answer = oracle::knn(MatrixView(c.query.data(), 1, d),
                                              MatrixView(c.row.data(), 1, d), nearest(1, c.metric));
    EXPECT_EQ(answer.ids.at(0), 0);
    EXPECT_EQ(answer.keys.at(0), c.key) << to_string(c.metric);
    EXPECT_EQ(answer.distances.at(0), c.distance) << to_string(c.metric);
    EXPECT_FALSE(std::signbit(answer.keys.at(0)) && answer.keys.at(0) == 0);
    EXPECT_FALSE(std::signbit(answer.distances.at(0)) && answer.distances.at(0) == 0);
  }
}

TEST(Oracle, DecodesHalfPrecision) {
  struct Case {
    std::uint16_t bits;
    double as_f16;
    double as_bf16;
  };
  const std::vector<Case> table = {
      {0x3C00, 1, std::ldexp(1.0, -7)},
      {0xC000, -2, -2},
      {0x0001, std::ldexp(1.0, -24), std::ldexp(1.0, -133)},
      {0x7BFF, 65504, std::ldexp(255.0, 113)},
      {0x3F80, 1.875, 1},
  };
  const float zero = 0;
  const auto key = [&](MatrixView query) {
    return oracle::knn(query, MatrixView(&zero, 1, 1), nearest(1)).keys.at(0);
  };
  for (const Case& c : table) {
    const Float16 f16{c.bits};
    const BFloat16 bf16{c.bits};
    EXPECT_EQ(key(MatrixView(&f16, 1, 1)), c.as_f16 * c.as_f16) << c.bits;
    EXPECT_EQ(key(MatrixView(&bf16, 1, 1)), c.as_bf16 * c.as_bf16) << c.bits;
  }
}

TEST(Oracle, ComparisonSeesEveryField) {
  const Matrix base = make_matrix({Kind::gaussian, DType::f32, 9, 5, 1});
  const oracle::Answer want = oracle::knn(base, base, nearest(4));
  Neighbors same;
  std::tie(same.queries, same.k, same.ids, same.keys, same.distances, same.counts) =
      std::tie(want.queries, want.k, want.ids, want.keys, want.distances, want.counts);
  EXPECT_EQ(oracle::difference(same, want), "");
  const std::vector<std::function<void(Neighbors&)>> changes = {
      [](Neighbors& n) { n.ids[5] += 1; },
      [](Neighbors& n) { n.keys[0] = -0.0; },
      [](Neighbors& n) { n.distances[5] = std::nextafterf(n.distances[5], 9); },
      [](Neighbors& n) { n.counts[8] = 3; },
      [](Neighbors& n) { n.counts.pop_back(); },
      [](Neighbors& n) { n.k = 3; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Neighbors changed = same;
    changes[i](changed);
    EXPECT_NE(oracle::difference(changed, want), "") << "change " << i;
  }
}

TEST(Data, CombinationsHoldEveryPair) {
  const std::vector<int> sizes = {13, 7, 4, 6, 3};
  const std::vector<std::vector<int>> rows = data::all_pairs(sizes);
  EXPECT_LT(rows.size(), 2 * 13 * 7);
  for (std::size_t f = 0; f < sizes.size(); ++f) {
    for (std::size_t g = f + 1; g < sizes.size(); ++g) {
      std::vector<bool> seen(static_cast<std::size_t>(sizes[f] * sizes[g]));
      for (const std::vector<int>& row : rows) {
        seen[static_cast<std::size_t>(row[f] * sizes[g] + row[g])] = true;
      }
      EXPECT_EQ(std::count(seen.begin(), seen.end(), false), 0) << f << " and " << g;
    }
  }
}

TEST(Data, StridedCopiesHoldTheSameRows) {
  for (const DType dtype : {DType::f64, DType::f16, DType::u8, DType::bits}) {
    const Matrix dense = make_matrix({Kind::uniform, dtype, 7, 19, 3});
    const Strided copy(dense, 5, 3);
    EXPECT_GT(copy.view().stride_bytes(), dense.stride_bytes());
    const std::size_t bytes = static_cast<std::size_t>(row_bytes(dtype, 19));
    for (std::int64_t i = 0; i < dense.rows(); ++i) {
      EXPECT_EQ(std::memcmp(copy.view().row(i), dense.row(i), bytes), 0) << to_string(dtype);
    }
  }
}

// ---- the sweep ----

constexpr std::array kCols = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 64, 100, 129};
constexpr std::array kRows = {0, 1, 2, 5, 17, 70, 300};
constexpr std::array kQueries = {0, 1, 3, 17};
constexpr int kChoicesOfK = 6;
constexpr std::array kFilters = {RowFilter::Kind::all, RowFilter::Kind::bitset,
                                 RowFilter::Kind::list};

struct Layout {
  std::int64_t extra_bytes;
  std::int64_t offset_elements;
};
constexpr std::array<Layout, 4> kLayouts = {{{0, 0}, {0, 1}, {8, 0}, {40, 3}}};

std::int64_t k_of(int choice, std::int64_t n) {
  const std::array<std::int64_t, kChoicesOfK> ks = {0, 1, 2, 10, n, n + 5};
  return ks[static_cast<std::size_t>(choice)];
}

// One configuration, picked from the tables above by the indices of a combination.
struct Case {
  std::int64_t d, n, queries, k;
  Kind kind;
  Layout base_layout, query_layout;
  RowFilter::Kind filter;
  std::uint64_t seed;

  std::string text() const {
    return fmt::format("d={} n={} queries={} k={} kind={} base +{}B @{} queries +{}B @{} filter={}",
                       d, n, queries, k, data::to_string(kind), base_layout.extra_bytes,
                       base_layout.offset_elements, query_layout.extra_bytes,
                       query_layout.offset_elements, static_cast<int>(filter));
  }
};

std::vector<Case> cases() {
  const std::vector<std::vector<int>> combinations =
      data::all_pairs({static_cast<int>(kCols.size()), static_cast<int>(kRows.size()),
                       static_cast<int>(kQueries.size()), kChoicesOfK,
                       static_cast<int>(data::kinds().size()), static_cast<int>(kLayouts.size()),
                       static_cast<int>(kLayouts.size()), static_cast<int>(kFilters.size())});
  std::vector<Case> all;
  for (const std::vector<int>& c : combinations) {
    const auto at = [&](std::size_t factor) { return static_cast<std::size_t>(c[factor]); };
    const std::int64_t n = kRows[at(1)];
    all.push_back({kCols[at(0)], n, kQueries[at(2)], k_of(c[3], n), data::kinds()[at(4)],
                   kLayouts[at(5)], kLayouts[at(6)], kFilters[at(7)], all.size()});
  }
  return all;
}

struct Searched {
  MetricSpec metric;
  DType dtype;
};

std::ostream& operator<<(std::ostream& out, const Searched& searched) {
  return out << to_string(searched.metric) << ' ' << to_string(searched.dtype);
}

std::vector<Searched> every_metric_and_type() {
  std::vector<Searched> all;
  for (const MetricSpec metric : every_metric()) {
    // 20 times slower than all others, and an emulator 30 times on top: operations_quick_test.cpp
    // has it, in small.
    if (metric == lp(0.7)) continue;
    for (const DType dtype : types_of(info(metric).input, Types::main)) {
      all.push_back({metric, dtype});
    }
  }
  return all;
}

std::string name_of(const ::testing::TestParamInfo<Searched>& info) {
  std::string name =
      fmt::format("{}_{}", to_string(info.param.metric), to_string(info.param.dtype));
  std::ranges::replace_if(
      name, [](char c) { return c == ':' || c == '.'; }, '_');
  return name;
}

class KnnSweep : public ::testing::TestWithParam<Searched> {
 protected:
  Matrix matrix(Kind kind, std::int64_t rows, std::int64_t cols, std::uint64_t seed) const {
    return make_matrix({kind, GetParam().dtype, rows, cols, seed});
  }
  KnnOptions options(std::int64_t k) const { return nearest(k, GetParam().metric); }
};

INSTANTIATE_TEST_SUITE_P(Knn, KnnSweep, ::testing::ValuesIn(every_metric_and_type()), name_of);

TEST_P(KnnSweep, EqualsTheOracleOnEveryIsa) {
  for (Case c : cases()) {
    if (GetParam().dtype == DType::bits && c.d >= 64) {
      c.d *= 5;  // up to 645 bits: beyond the longest register
    }
    // Odd cases ask for rows of the base itself.
    const std::uint64_t query_seed = c.seed % 2 == 1 ? c.seed : c.seed + 1000;
    const Strided base(matrix(c.kind, c.n, c.d, c.seed), c.base_layout.extra_bytes,
                       c.base_layout.offset_elements);
    const Strided queries(matrix(c.kind, c.queries, c.d, query_seed), c.query_layout.extra_bytes,
                          c.query_layout.offset_elements);
    const RowChoice choice(c.filter, c.n, c.seed);
    KnnOptions knn_options = options(c.k);
    knn_options.filter = choice.filter();
    const oracle::Answer want = expected(queries, base, knn_options);
    for (const Isa isa : swept_isas()) {
      const Neighbors got = knn(queries.view(), base.view(), knn_options, forced(isa));
      EXPECT_EQ(mismatch(got, want, GetParam().metric), "") << to_string(isa) << ' ' << c.text();
    }
    if (HasFailure()) {
      return;  // every ISA of the first case that fails says more than every case
    }
  }
}

TEST_P(KnnSweep, TopTenIsTheHeadOfTopThousand) {
  const Matrix base = matrix(Kind::small_integers, 1100, 16, 1);  // ties at every rank
  const Matrix queries = matrix(Kind::small_integers, 5, 16, 2);
  for (const Isa isa : swept_isas()) {
    const Neighbors thousand = knn(queries, base, options(1000), forced(isa));
    for (const std::int64_t k : {1, 10, 100}) {
      const Neighbors few = knn(queries, base, options(k), forced(isa));
      EXPECT_EQ(oracle::difference(few, oracle::head_of(oracle::answer_of(thousand), k)), "")
          << "k=" << k << ' ' << to_string(isa);
    }
  }
}

TEST_P(KnnSweep, ThreadsDoNotChangeTheAnswer) {
  struct Size {
    std::int64_t queries, rows;
  };
  // Many queries are split among threads; for few, the rows are, and the parts merged.
  for (const Size size : {Size{120, 300}, Size{2, 20'000}}) {
    const Matrix base = matrix(Kind::small_integers, size.rows, 16, 3);
    const Matrix queries = matrix(Kind::small_integers, size.queries, 16, 4);
    const oracle::Answer want = expected(queries, base, options(10));
    for (const int threads : {1, 2, 7}) {
      Context context;
      context.threads = threads;
      const Neighbors got = knn(queries, base, options(10), context);
      EXPECT_EQ(mismatch(got, want, GetParam().metric), "")
          << threads << " threads, " << size.queries << " queries";
      EXPECT_LE(got.stats.plan.threads, threads);
    }
  }
}

TEST_P(KnnSweep, MemoryLimitsDoNotChangeTheAnswer) {
  const Matrix base = matrix(Kind::gaussian, 400, 129, 5);
  const Matrix queries = matrix(Kind::gaussian, 9, 129, 6);
  const KnnOptions ten = options(10);
  const oracle::Answer want = expected(queries, base, ten);
  const MatrixRows held_base(base), held_queries(queries);
  const PiecewiseRows read_base(base), read_queries(queries);
  const std::vector<std::pair<const RowSource*, const RowSource*>> sources = {
      {&held_queries, &held_base}, {&held_queries, &read_base}, {&read_queries, &read_base}};
  for (const auto& [from, to] : sources) {
    Context context;
    context.threads = 2;
    EXPECT_EQ(mismatch(knn(*from, *to, ten, context), want, ten.metric), "");
    const std::int64_t least = small_memory_limit(*from, *to, ten, context);
    for (const std::int64_t limit : {least, least + 50 * base.stride_bytes(), least * 20}) {
      context.memory_limit = limit;
      context.threads = limit == least ? 1 : 2;  // thousands of tiny pieces: no arena for each
      const Neighbors got = knn(*from, *to, ten, context);
      const Plan& plan = got.stats.plan;
      EXPECT_EQ(mismatch(got, want, ten.metric), "") << to_string(plan);
      EXPECT_LE(plan.result_bytes + plan.working_bytes, limit) << to_string(plan);
      const bool fits = to->in_memory().has_value() || base.bytes() <= limit - plan.result_bytes;
      EXPECT_TRUE(fits || plan.base_chunk < base.rows()) << to_string(plan);
      // 412,800 bytes of float64 are several times what a search needs at least.
      EXPECT_FALSE(fits && limit == least && !to->in_memory().has_value() &&
                   base.dtype() == DType::f64)
          << "the limit of " << limit << " bytes did not cut the base: " << to_string(plan);
    }
  }
}

TEST_P(KnnSweep, ExcludeSelfWorksWithEveryFilter) {
  const Matrix base = matrix(Kind::duplicates, 130, 9, 7);
  for (const RowFilter::Kind kind : kFilters) {
    const RowChoice choice(kind, base.rows(), 8);
    KnnOptions knn_options = options(12);
    knn_options.filter = choice.filter();
    knn_options.exclude_self = true;
    const oracle::Answer want = expected(base, base, knn_options);
    for (const Isa isa : swept_isas()) {
      EXPECT_EQ(mismatch(knn(base, base, knn_options, forced(isa)), want, GetParam().metric), "")
          << to_string(isa) << " filter=" << static_cast<int>(kind);
    }
  }
}

// ---- single promises ----

TEST(KnnFilter, EmptyListReturnsNothingAndFullBitsetEverything) {
  const Matrix base = make_matrix({Kind::gaussian, DType::f32, 70, 6, 1});
  const Neighbors none = knn(base, base, nearest(2, Metric::sqeuclidean, RowFilter::list({})));
  EXPECT_EQ(none.counts, std::vector<std::int64_t>(70, 0));
  EXPECT_EQ(none.ids, std::vector<std::int64_t>(140, kNoId));
  EXPECT_EQ(none.distances, std::vector<float>(140, kFloatInfinity));
  const std::vector<std::uint64_t> ones(2, ~std::uint64_t{0});  // 58 bits beyond the last row
  const Neighbors all = knn(base, base, nearest(80, Metric::sqeuclidean, RowFilter::bitset(ones)));
  EXPECT_EQ(oracle::difference(all, oracle::knn(base, base, nearest(80))), "");
}

TEST(KnnPadding, SimilaritiesPadWithMinusInfinity) {
  const Matrix base = make_matrix({Kind::gaussian, DType::f32, 1, 6, 1});
  for (const Metric metric : {Metric::inner_product, Metric::cosine}) {
    const Neighbors got = knn(base, base, nearest(3, metric));
    EXPECT_EQ(got.counts, std::vector<std::int64_t>{1});
    EXPECT_EQ(got.ids, (std::vector<std::int64_t>{0, kNoId, kNoId}));
    EXPECT_EQ(got.distances.at(2), -kFloatInfinity);
    EXPECT_EQ(got.keys.at(2), kFloatInfinity);
  }
}

TEST(KnnNotFinite, RowsAreNeverReturnedAndQueriesReturnNothing) {
  for (const float bad : {kNaN, kFloatInfinity, -kFloatInfinity}) {
    const std::vector<float> base = {0, 0, bad, 0, 1, 1, 0, bad, 2, 2};  // 5 rows of 2
    const std::vector<float> queries = {bad, 0, 0, 0};
    for (const Isa isa : swept_isas()) {
      const Neighbors got = knn(MatrixView(queries.data(), 2, 2), MatrixView(base.data(), 5, 2),
                                nearest(4), forced(isa));
      EXPECT_EQ(got.counts, (std::vector<std::int64_t>{0, 3})) << to_string(isa);
      EXPECT_EQ(got.ids, (std::vector<std::int64_t>{-1, -1, -1, -1, 0, 2, 4, -1}));
    }
  }
}

TEST(KnnNotFinite, OverflowKeepsItsId) {
  const std::vector<float> base = {3e38F, -3e38F};
  const Neighbors got =
      knn(MatrixView(base.data(), 1, 1), MatrixView(base.data(), 2, 1), nearest(2));
  EXPECT_EQ(got.ids, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(got.distances.at(1), kFloatInfinity);
  EXPECT_TRUE(std::isfinite(got.keys.at(1)));
}

struct OffsetCase {
  DType dtype;
  Kind kind;
};

TEST(KnnOffset, ExactWhereExpandedDistancesAreNot) {
  const std::array<OffsetCase, 4> table = {{
      {DType::f32, Kind::offset},        // 1e4 plus 1e-2
      {DType::f32, Kind::offset_large},  // 1e6 plus 1
      {DType::f64, Kind::offset},        // 1e4 plus 1e-2
      {DType::f64, Kind::offset_large},  // 1e6 plus 1e-2
  }};
  for (const OffsetCase& c : table) {
    const Matrix base = make_matrix({c.kind, c.dtype, 600, 64, 1});
    const Matrix queries = make_matrix({c.kind, c.dtype, 20, 64, 2});
    for (const Metric metric : {Metric::sqeuclidean, Metric::euclidean, Metric::cosine}) {
      const KnnOptions options = nearest(20, metric);
      const oracle::Answer want = oracle::knn(queries, base, options);
      for (const Isa isa : swept_isas()) {
        EXPECT_EQ(mismatch(knn(queries, base, options, forced(isa)), want, metric), "")
            << to_string(c.dtype) << ' ' << data::to_string(c.kind) << ' ' << to_string(isa);
      }
    }
  }
}

TEST(KnnMixedTypes, AreTheSameAsPromotedOnes) {
  struct Pair {
    DType narrow, wide;
  };
  const std::vector<Pair> table = {
      {DType::u8, DType::f32},   {DType::i8, DType::f32},  {DType::f16, DType::f32},
      {DType::bf16, DType::f32}, {DType::f32, DType::f64}, {DType::u8, DType::f64},
      {DType::u8, DType::f16},   {DType::i8, DType::bf16},
  };
  for (const auto& [narrow_type, wide_type] : table) {
    const Matrix narrow = make_matrix({Kind::uniform, narrow_type, 40, 33, 1});
    const Matrix wide = make_matrix({Kind::uniform, wide_type, 50, 33, 2});
    for (const Metric metric : {Metric::sqeuclidean, Metric::inner_product, Metric::cosine}) {
      const KnnOptions options = nearest(7, metric);
      for (const Isa isa : swept_isas()) {
        const std::string where =
            fmt::format("{} {} {} {}", to_string(narrow_type), to_string(wide_type),
                        to_string(metric), to_string(isa));
        EXPECT_EQ(mismatch(knn(narrow, wide, options, forced(isa)),
                           oracle::knn(narrow, wide, options), metric),
                  "")
            << where;
        EXPECT_EQ(mismatch(knn(wide, narrow, options, forced(isa)),
                           oracle::knn(wide, narrow, options), metric),
                  "")
            << where;
      }
    }
  }
}

Matrix bytes_as_f32(const Matrix& bytes) {
  Matrix floats(DType::f32, bytes.rows(), bytes.cols());
  for (std::int64_t i = 0; i < bytes.rows(); ++i) {
    for (std::int64_t j = 0; j < bytes.cols(); ++j) {
      const float value = static_cast<float>(std::to_integer<int>(bytes.row(i)[j]));
      std::memcpy(floats.row(i) + 4 * j, &value, 4);
    }
  }
  return floats;
}

TEST(KnnMixedTypes, BytesEqualTheirFloats) {
  const Matrix bytes = make_matrix({Kind::uniform, DType::u8, 60, 21, 1});
  const Matrix floats = bytes_as_f32(bytes);
  const oracle::Answer promoted = oracle::answer_of(knn(floats, floats));
  EXPECT_EQ(oracle::difference(knn(bytes, floats), promoted), "");
  EXPECT_EQ(oracle::difference(knn(floats, bytes), promoted), "");
  EXPECT_EQ(oracle::difference(knn(bytes, bytes), promoted), "");
}

// ---- errors ----

struct ErrorCase {
  const char* what;
  ErrorCode code;
  std::vector<std::string> words;  // that the message must hold
  std::function<void()> search;
};

void expect_error(const ErrorCase& c) {
  try {
    c.search();
    ADD_FAILURE() << c.what << ": no error";
  } catch (const Error& error) {
    EXPECT_EQ(to_string(error.code()), to_string(c.code)) << c.what << ": " << error.what();
    for (const std::string& word : c.words) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
          << c.what << ": \"" << error.what() << "\" lacks " << word;
    }
  }
}

TEST(KnnErrors, ShapesHoldTheNumbers) {
  const Matrix narrow(DType::f32, 5, 64), wide(DType::f32, 7, 128);
  const std::vector<std::int64_t> beyond = {3, 7}, negative = {-1};
  const std::vector<std::uint64_t> none;
  const auto filtered = [](RowFilter filter) { return nearest(3, Metric::sqeuclidean, filter); };
  KnnOptions no_self;
  no_self.exclude_self = true;
  constexpr ErrorCode kInvalid = ErrorCode::invalid_argument;
  const std::vector<ErrorCase> table = {
      {"columns", kInvalid, {"64", "128"}, [&] { knn(narrow, wide); }},
      {"k", kInvalid, {"-3"}, [&] { knn(wide, wide, nearest(-3)); }},
      {"exclude_self", kInvalid, {"5", "7"}, [&] { knn(wide.view().slice(0, 5), wide, no_self); }},
      {"list, too large",
       kInvalid,
       {"7"},
       [&] { knn(wide, wide, filtered(RowFilter::list(beyond))); }},
      {"list, negative",
       kInvalid,
       {"-1"},
       [&] { knn(wide, wide, filtered(RowFilter::list(negative))); }},
      {"bitset, too short",
       kInvalid,
       {"0"},
       [&] { knn(wide, wide, filtered(RowFilter::bitset(none))); }},
  };
  std::for_each(table.begin(), table.end(), expect_error);
}

TEST(KnnErrors, TypesAreNamed) {
  const Matrix u8(DType::u8, 4, 16), i8(DType::i8, 4, 16), f16(DType::f16, 4, 16),
      bf16(DType::bf16, 4, 16), f32(DType::f32, 4, 16), bits(DType::bits, 4, 16);
  constexpr ErrorCode kInvalid = ErrorCode::invalid_argument;
  const KnnOptions hamming = nearest(10, Metric::hamming);
  const std::vector<ErrorCase> table = {
      {"u8 and i8", kInvalid, {"u8", "i8"}, [&] { knn(u8, i8); }},
      {"i8 and u8", kInvalid, {"u8", "i8"}, [&] { knn(i8, u8); }},
      {"f16 and bf16", kInvalid, {"f16", "bf16"}, [&] { knn(f16, bf16); }},
      {"bits and u8", kInvalid, {"bits", "u8"}, [&] { knn(bits, u8, hamming); }},
      {"hamming of f32", kInvalid, {"hamming", "f32"}, [&] { knn(f32, f32, hamming); }},
      {"sqeuclidean of bits", kInvalid, {"sqeuclidean", "bits"}, [&] { knn(bits, bits); }},
  };
  std::for_each(table.begin(), table.end(), expect_error);
}

TEST(KnnErrors, CheckFiniteNamesTheRow) {
  const Matrix good = make_matrix({Kind::gaussian, DType::f32, 200, 8, 1});
  Matrix bad = make_matrix({Kind::gaussian, DType::f32, 200, 8, 1});
  std::memcpy(bad.row(137) + 4 * 5, &kNaN, 4);
  KnnOptions check;
  check.check_finite = true;
  const PiecewiseRows pieces(bad), good_pieces(good);
  constexpr ErrorCode kNotFinite = ErrorCode::not_finite;
  const std::vector<ErrorCase> table = {
      {"base", kNotFinite, {"137"}, [&] { knn(good, bad, check); }},
      {"queries", kNotFinite, {"137"}, [&] { knn(bad, good, check); }},
      {"read base", kNotFinite, {"137"}, [&] { knn(good_pieces, pieces, check); }},
      {"read queries", kNotFinite, {"137"}, [&] { knn(pieces, good_pieces, check); }},
  };
  std::for_each(table.begin(), table.end(), expect_error);
  EXPECT_EQ(oracle::difference(knn(good, good, check), oracle::knn(good, good, check)), "");
}

TEST(KnnErrors, UnusedBitsMustBeZero) {
  const Matrix good = make_matrix({Kind::uniform, DType::bits, 30, 13, 1});
  Matrix bad = make_matrix({Kind::uniform, DType::bits, 30, 13, 1});
  bad.row(21)[1] |= std::byte{0x20};  // bit 13, the first beyond the last
  const KnnOptions hamming = nearest(10, Metric::hamming);
  const PiecewiseRows pieces(bad);
  const MatrixRows rows(good);
  constexpr ErrorCode kInvalid = ErrorCode::invalid_argument;
  const std::vector<ErrorCase> table = {
      {"base", kInvalid, {"21"}, [&] { knn(good, bad, hamming); }},
      {"queries", kInvalid, {"21"}, [&] { knn(bad, good, hamming); }},
      {"read base", kInvalid, {"21"}, [&] { knn(rows, pieces, hamming); }},
  };
  std::for_each(table.begin(), table.end(), expect_error);
  EXPECT_NO_THROW(knn(good, good, hamming));
}

}  // namespace
}  // namespace nearfield::contract
