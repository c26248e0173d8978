// What the filter drops is above the threshold: on data made to break it, with fits that are poor.
#include "filter/rounded/rounded_filter.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "core/random.hpp"
#include "tests/oracle/data.hpp"
#include "tests/unit/filter/near_rows.hpp"

namespace nearfield {
namespace {

struct RoundedProblem {
  Metric metric;
  Matrix queries;
  Matrix base;
  BaseRounding rounding;
};

// How many rows at or below a threshold there were.
std::int64_t expect_all_near(const RoundedProblem& problem, Isa isa, Random& random) {
  const Context context;
  Monitor monitor(context, 1);
  const TileKernel& kernel = tile_kernel(isa);
  const RoundedQueries queries(problem.rounding, kernel, problem.queries, 0, 1, monitor);
  const RoundedRows base(problem.rounding, kernel.form, problem.base, 0, 1, monitor);
  const NearRows near{problem.queries.rows(), problem.base.rows(),
                      true_keys(problem.queries, problem.base, problem.metric)};
  return near.expect_kept(RoundedFilter(problem.rounding, kernel, queries, base), random);
}

// A poor choice costs survivors, never an answer: fits on a few rows, steps far off, rotations.
void spoil(BaseRounding& rounding, MatrixView base, Random& random) {
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
          RoundedProblem problem{metric, data::make_matrix({kind, dtype, 40, cols, seed}),
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
    BaseRounding rounding = *choose_rounding(metric, DType::f32, DType::f32, 8, default_isa());
    const Context context;
    fit_rounding(rounding, base.view().slice(0, 100), Monitor(context, 1));
    EXPECT_EQ(rounding.step, kLeastStep);
    RoundedProblem problem{metric, Matrix(queries.view().dtype(), 0, 8), Matrix(), rounding};
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
  BaseRounding rounding =
      *choose_rounding(Metric::sqeuclidean, DType::f32, DType::f32, 64, default_isa());
  const Context context;
  Monitor monitor(context, 1);
  fit_rounding(rounding, base.view().slice(0, 64), monitor);
  const TileKernel& kernel = tile_kernel(default_isa());
  const RoundedQueries rounded(rounding, kernel, queries, 0, 1, monitor);
  const RoundedRows packed(rounding, kernel.form, base, 0, 1, monitor);
  Candidates found;
  RoundedFilter(rounding, kernel, rounded, packed)
      .survivors({{0, 32}, {0, rows}}, std::vector<double>(32, 4), found);  // the mean is 14
  EXPECT_LT(found.size(), 32 * rows / 8);
}

}  // namespace
}  // namespace nearfield
