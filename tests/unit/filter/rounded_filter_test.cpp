// What the filter drops is above the threshold: on data made to break it, with fits that are poor.
#include "filter/rounded/rounded_filter.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "core/random.hpp"
#include "tests/oracle/data.hpp"
#include "tests/oracle/oracle.hpp"

namespace nearfield {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The true key of every pair; NaN where there is none.
std::vector<double> true_keys(MatrixView queries, MatrixView base, Metric metric) {
  KnnOptions options;
  options.k = base.rows();
  options.metric = metric;
  const oracle::Answer answer = oracle::knn(queries, base, options);
  std::vector<double> keys(static_cast<std::size_t>(queries.rows() * base.rows()), NAN);
  for (std::int64_t query = 0; query < queries.rows(); ++query) {
    for (std::int64_t i = 0; i < base.rows(); ++i) {
      const auto at = static_cast<std::size_t>(query * base.rows() + i);
      if (answer.ids[at] < 0) continue;
      keys[static_cast<std::size_t>(query * base.rows() + answer.ids[at])] = answer.keys[at];
    }
  }
  return keys;
}

struct Problem {
  Metric metric;
  Matrix queries;
  Matrix base;
  Rounding rounding;
};

// How many rows at or below a threshold there were. Thresholds are keys that occur, and infinities.
std::int64_t expect_all_near(const Problem& problem, Isa isa, Random& random) {
  const Context context;
  Monitor monitor(context, 1);
  const std::int64_t rows = problem.base.rows();
  const TileKernel& kernel = tile_kernel(isa);
  const RoundedQueries queries(problem.rounding, kernel, problem.queries, 0, 1, monitor);
  const RoundedRows base(problem.rounding, kernel, problem.base, 0, 1, monitor);
  const RoundedFilter filter(problem.rounding, kernel, queries, base);
  const std::vector<double> keys = true_keys(problem.queries, problem.base, problem.metric);

  std::vector<double> thresholds;
  for (std::int64_t query = 0; query < problem.queries.rows(); ++query) {
    const double key = keys[static_cast<std::size_t>(query * rows + random.below(rows))];
    const double special = random.below(2) == 0 ? kInfinity : -kInfinity;
    thresholds.push_back(std::isnan(key) || random.below(20) == 0 ? special : key);
  }
  // Every other time the rows ask too: that finds more, and no less.
  std::vector<double> row_thresholds;
  for (std::int64_t row = 0; filter.two_sided() != nullptr && random.below(2) == 0 && row < rows;) {
    for (; row < rows; ++row) {
      const std::int64_t query = random.below(problem.queries.rows());
      const double key = keys[static_cast<std::size_t>(query * rows + row)];
      row_thresholds.push_back(std::isnan(key) ? kInfinity : key);
    }
  }
  Candidates found;
  filter.survivors_of_both({{0, problem.queries.rows()}, {0, rows}}, thresholds, row_thresholds,
                           found);
  std::int64_t near = 0;
  std::int64_t next = 0;
  for (std::int64_t query = 0; query < problem.queries.rows(); ++query) {
    std::vector<bool> kept(static_cast<std::size_t>(rows));
    for (const std::uint32_t row : found.rows_of(query)) {
      kept[row] = true;
      if (found.keyed()) {
        EXPECT_EQ(found.keys()[static_cast<std::size_t>(next)],
                  keys[static_cast<std::size_t>(query * rows + row)]);
      }
      ++next;
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      const double key = keys[static_cast<std::size_t>(query * rows + row)];
      const bool asked =
          !row_thresholds.empty() && key <= row_thresholds[static_cast<std::size_t>(row)];
      if (!(key <= thresholds[static_cast<std::size_t>(query)]) && !asked) continue;
      ++near;
      EXPECT_TRUE(kept[static_cast<std::size_t>(row)])
          << kernel.name << ", query " << query << ", row " << row << ", key " << key;
    }
  }
  return near;
}

// A poor choice costs survivors, never an answer: fits on a few rows, steps far off, rotations.
void spoil(Rounding& rounding, MatrixView base, Random& random) {
  if (rounding.lossless) return;
  const Context context;
  const Monitor monitor(context, 1);
  const std::int64_t fitted = random.below(2) == 0 ? base.rows() : 1 + random.below(4);
  fit_rounding(rounding, base.slice(0, fitted), monitor);
  if (random.below(3) == 0) {
    const auto factor = static_cast<float>(std::pow(10, static_cast<double>(random.below(9)) - 6));
    rounding.step = std::max(rounding.step * factor, kLeastStep);
  }
  if (random.below(3) == 0) rounding.rotation.emplace(rounding.cols);
}

TEST(RoundedFilter, DropsNothingThatIsNear) {
  Random random(1);
  std::int64_t near = 0;
  for (const Metric metric : {Metric::sqeuclidean, Metric::cosine, Metric::inner_product}) {
    for (const DType dtype :
         {DType::f64, DType::f32, DType::f16, DType::bf16, DType::u8, DType::i8}) {
      for (const data::Kind kind : data::kinds()) {
        for (const std::int64_t cols : {1, 19, 64, 100}) {
          const auto seed = static_cast<std::uint64_t>(random.below(100));
          Problem problem{metric, data::make_matrix({kind, dtype, 40, cols, seed}),
                          data::make_matrix({kind, dtype, 70, cols, seed + 1}),
                          *choose_rounding(metric, dtype, dtype, cols, default_isa())};
          spoil(problem.rounding, problem.base, random);
          SCOPED_TRACE(fmt::format("{} {} {} {} columns, step {}", to_string(metric),
                                   to_string(dtype), data::to_string(kind), cols,
                                   problem.rounding.step));
          for (const Isa isa : available_isas()) near += expect_all_near(problem, isa, random);
        }
      }
    }
  }
  EXPECT_GT(near, 1'000'000);  // or little was tested
}

// Most rows are zero, so that the step is the least there is, and the answer is among the others.
TEST(RoundedFilter, KeepsRowsThatTheStepIsFarTooSmallFor) {
  Random random(2);
  Matrix base(DType::f32, 300, 8);
  Matrix queries(DType::f32, 40, 8);
  for (Matrix* matrix : {&queries, &base}) {
    for (std::int64_t row = matrix == &base ? 290 : 0; row < matrix->rows(); ++row) {
      auto* const values = reinterpret_cast<float*>(matrix->row(row));
      for (int i = 0; i < 8; ++i) values[i] = static_cast<float>(random.normal());
    }
  }
  for (const Metric metric : {Metric::sqeuclidean, Metric::inner_product}) {
    Rounding rounding = *choose_rounding(metric, DType::f32, DType::f32, 8, default_isa());
    const Context context;
    fit_rounding(rounding, base.view().slice(0, 100), Monitor(context, 1));
    EXPECT_EQ(rounding.step, kLeastStep);
    Problem problem{metric, Matrix(queries.view().dtype(), 0, 8), Matrix(), rounding};
    problem.queries = std::move(queries);
    problem.base = std::move(base);
    for (const Isa isa : available_isas()) {
      for (int round = 0; round < 20; ++round) expect_all_near(problem, isa, random);
    }
    queries = std::move(problem.queries);
    base = std::move(problem.base);
  }
}

// One row far from the rest does not make the filter useless.
TEST(RoundedFilter, OneFarRowSpoilsItsGroupAtMost) {
  const std::int64_t rows = 512;
  Matrix base = data::make_matrix({data::Kind::gaussian, DType::f32, rows, 64, 1});
  auto* const far = reinterpret_cast<float*>(base.row(77));
  for (int i = 0; i < 64; ++i) far[i] *= 30;
  const Matrix queries = data::make_matrix({data::Kind::gaussian, DType::f32, 32, 64, 2});
  Rounding rounding =
      *choose_rounding(Metric::sqeuclidean, DType::f32, DType::f32, 64, default_isa());
  const Context context;
  Monitor monitor(context, 1);
  fit_rounding(rounding, base.view().slice(0, 64), monitor);
  const TileKernel& kernel = tile_kernel(default_isa());
  const RoundedQueries rounded(rounding, kernel, queries, 0, 1, monitor);
  const RoundedRows packed(rounding, kernel, base, 0, 1, monitor);
  Candidates found;
  RoundedFilter(rounding, kernel, rounded, packed)
      .survivors({{0, 32}, {0, rows}}, std::vector<double>(32, 4), found);  // the mean is 14
  EXPECT_LT(found.size(), 32 * rows / 8);
}

}  // namespace
}  // namespace nearfield
