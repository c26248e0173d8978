// What tiles of bf16 drop is above the threshold: on data made to break them, with poor centres.
#include "filter/rounded/bf16_filter.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "core/decode.hpp"
#include "tests/oracle/data.hpp"
#include "tests/unit/filter/near_rows.hpp"

namespace nearfield {
namespace {

bool has_tiles() { return default_isa() == Isa::amx && bf16_tile_kernel(Isa::amx) != nullptr; }

constexpr Metric kMetrics[] = {Metric::sqeuclidean, Metric::cosine, Metric::inner_product};
constexpr DType kTypes[] = {DType::f64, DType::f32, DType::f16, DType::bf16};

// A poor choice costs survivors, never an answer: by all rows, or by a few.
BaseRounding fitted(Metric metric, MatrixView base, Random& random) {
  BaseRounding rounding =
      *choose_rounding(metric, base.dtype(), base.dtype(), base.cols(), default_isa());
  const Context context;
  const Monitor monitor(context, 1);
  const std::int64_t rows = random.below(2) == 0 ? base.rows() : 1 + random.below(4);
  fit_rounding(rounding, base.slice(0, rows), monitor);
  return rounding;
}

// How many rows at or below a threshold there were.
std::int64_t expect_all_near(Metric metric, const data::Shape& shape, std::int64_t query_count,
                             Random& random) {
  data::Shape query_shape = shape;
  query_shape.rows = query_count;
  ++query_shape.seed;
  const Matrix base = data::make_matrix(shape);
  const Matrix queries = data::make_matrix(query_shape);
  SCOPED_TRACE(fmt::format("{} {} {} {} columns, seed {}", to_string(metric),
                           to_string(shape.dtype), data::to_string(shape.kind), shape.cols,
                           shape.seed));
  const BaseRounding rounding = fitted(metric, base, random);
  const Context context;
  Monitor monitor(context, 1);
  const Bf16Queries rounded_queries(rounding, queries, 0, 1, monitor);
  const Bf16Rows rounded_rows(rounding, base, 0, 1, monitor);
  const Bf16Filter filter(rounding, bf16_tile_kernel(Isa::amx), rounded_queries, rounded_rows);
  const NearRows near{queries.rows(), base.rows(), true_keys(queries, base, metric)};
  return near.expect_kept(filter, random);
}

TEST(Bf16Filter, DropsNothingThatIsNear) {
  if (!has_tiles()) GTEST_SKIP() << "no tiles of bf16 here";
  Random random(1);
  std::int64_t near = 0;
  for (const Metric metric : kMetrics) {
    for (const DType dtype : kTypes) {
      for (const data::Kind kind : data::kinds()) {
        for (const std::int64_t cols : {1, 2, 19, 64, 100}) {
          for (int i = 0; i < 3; ++i) {
            const auto seed = static_cast<std::uint64_t>(random.below(100));
            near += expect_all_near(metric, {kind, dtype, 70, cols, seed}, 40, random);
          }
        }
      }
    }
  }
  EXPECT_GT(near, 1'000'000);  // or little was tested
}

// Each with one of the metrics, types and kinds in turn.
TEST(Bf16Filter, DropsNothingThatIsNearWhateverTheWidth) {
  if (!has_tiles()) GTEST_SKIP() << "no tiles of bf16 here";
  Random random(2);
  std::int64_t near = 0;
  const auto test = [&](std::int64_t cols, std::int64_t rows, std::int64_t queries) {
    for (const Metric metric : kMetrics) {
      for (const DType dtype : kTypes) {
        const data::Kind kind =
            data::kinds()[static_cast<std::size_t>(random.below(std::ssize(data::kinds())))];
        const auto seed = static_cast<std::uint64_t>(random.below(100));
        near += expect_all_near(metric, {kind, dtype, rows, cols, seed}, queries, random);
      }
    }
  };
  for (std::int64_t cols = 1; cols <= 200; ++cols) test(cols, 40, 33);
  for (int i = 0; i < 5; ++i) test(1000, 40, 33);
  for (int i = 0; i < 5; ++i) test(4096, 33, 10);
  for (const std::int64_t cols : {16'383, 16'384}) test(cols, 33, 10);  // no tiles beyond
  EXPECT_GT(near, 500'000);
}

// A rounding with one value for all of its centre.
BaseRounding centred_at(float centre, DType dtype, std::int64_t cols) {
  BaseRounding rounding = *choose_rounding(Metric::sqeuclidean, dtype, dtype, cols, default_isa());
  rounding.centre.assign(static_cast<std::size_t>(cols), centre);
  rounding.centre_length = std::abs(centre) * std::sqrt(static_cast<double>(cols));
  return rounding;
}

// Each row as a query that asks for what is at no distance: itself.
void expect_each_finds_itself(const BaseRounding& rounding, MatrixView rows) {
  const Context context;
  Monitor monitor(context, 1);
  const Bf16Queries as_queries(rounding, rows, 0, 1, monitor);
  const Bf16Rows as_rows(rounding, rows, 0, 1, monitor);
  const Bf16Filter filter(rounding, bf16_tile_kernel(Isa::amx), as_queries, as_rows);
  const std::vector<double> thresholds(static_cast<std::size_t>(rows.rows()), 0.0);
  const std::vector<double> nobody(static_cast<std::size_t>(rows.rows()), -1.0);
  const Block block{{0, rows.rows()}, {0, rows.rows()}};
  const auto expect_found = [&](const Candidates& found, const char* asking) {
    for (std::int64_t row = 0; row < rows.rows(); ++row) {
      const auto kept = found.rows_of(row);
      EXPECT_TRUE(std::find(kept.begin(), kept.end(), row) != kept.end())
          << rounding.cols << " columns, " << asking << " of row " << row;
    }
  };
  Candidates found;
  filter.survivors(block, thresholds, found);
  expect_found(found, "as a query");
  filter.survivors_of_both(block, nobody, thresholds, found);
  expect_found(found, "as a row");
}

// Values that bf16 holds lose nothing, so that 2^-21 of a length is all that the bound allows for
// losses, and 2^-41 of its square is what that amounts to here: what the sum is off by must be
// allowed for by itself.
TEST(Bf16Filter, AllowsForWhatTheSumIsOffBy) {
  if (!has_tiles()) GTEST_SKIP() << "no tiles of bf16 here";
  for (const std::int64_t cols : {1, 2, 31, 64, 129, 1000, 4096, 16'383, 16'384}) {
    const Matrix rows = data::make_matrix({data::Kind::gaussian, DType::bf16, 64, cols, 1});
    expect_each_finds_itself(centred_at(0, DType::bf16, cols), rows);
  }
}

// Products below 2^-126, which tiles take for 0, of vectors that are 2^-40 and little more.
TEST(Bf16Filter, AllowsForSumsThatVanish) {
  if (!has_tiles()) GTEST_SKIP() << "no tiles of bf16 here";
  for (const std::int64_t cols : {1, 40, 16'384}) {
    Matrix rows(DType::f64, 33, cols);
    for (std::int64_t row = 0; row < rows.rows(); ++row) {
      auto* const values = reinterpret_cast<double*>(rows.row(row));
      std::fill_n(values, cols, 0x1p-40 + static_cast<double>(row % 8) * 0x1p-66);
    }
    expect_each_finds_itself(centred_at(0x1p-40F, DType::f64, cols), rows);
  }
}

using Exact = long double;

// A vector as it is rounded, in long double.
std::vector<Exact> exact_vector(const BaseRounding& rounding, const std::byte* row, bool centred,
                                Exact step) {
  std::vector<double> decoded(static_cast<std::size_t>(rounding.cols));
  decode_row(rounding.base, row, rounding.cols, decoded.data());
  Exact scale = 1 / step;
  if (rounding.unit) {
    Exact squares = 0;
    for (const double value : decoded) squares += Exact{value} * value;
    scale = 1 / std::sqrt(squares);
  }
  std::vector<Exact> values;
  for (std::size_t i = 0; i < decoded.size(); ++i) {
    values.push_back(decoded[i] * scale - (centred ? Exact{rounding.centre[i]} : 0));
  }
  return values;
}

// Of a denormal value tiles see nothing.
Exact seen(std::uint16_t bits) {
  const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  return std::isnormal(value) ? value : 0;
}

TEST(Bf16Rounder, LosesNoMoreThanItSaysAndNotMuchLess) {
  Random random(3);
  std::int64_t usual = 0;
  for (const Metric metric : kMetrics) {
    for (const DType dtype : kTypes) {
      for (const data::Kind kind : data::kinds()) {
        for (const std::int64_t cols : {1, 3, 48, 200}) {
          const Matrix rows = data::make_matrix({kind, dtype, 60, cols, 1});
          const BaseRounding rounding = fitted(metric, rows, random);
          Bf16Rounder rounder(rounding);
          std::vector<std::uint16_t> values(static_cast<std::size_t>(cols));
          for (std::int64_t row = 0; row < 2 * rows.rows(); ++row) {
            const bool query = row >= rows.rows();
            const std::byte* const from = rows.row(row % rows.rows());
            const Bf16Vector vector =
                query ? rounder.query(from, values.data()) : rounder.row(from, values.data());
            if (vector.kind != VectorKind::usual) continue;
            ++usual;
            const bool centred = !query || rounding.form == Form::distance;
            const std::vector<Exact> exact =
                exact_vector(rounding, from, centred, query ? vector.divisor : 1);
            Exact lost = 0;
            Exact squares = 0;
            Exact length = 0;
            for (std::size_t i = 0; i < exact.size(); ++i) {
              lost += (exact[i] - seen(values[i])) * (exact[i] - seen(values[i]));
              squares += seen(values[i]) * seen(values[i]);
              length += exact[i] * exact[i];
            }
            EXPECT_LE(std::sqrt(lost), vector.loss);
            EXPECT_NEAR(static_cast<double>(squares), vector.squares,
                        0x1p-40 * vector.squares + 1e-70);
            EXPECT_LE(vector.loss,
                      0x1.01p-8L * std::sqrt(length) + 0x1p-38 * rounding.centre_length + 1e-29L);
            if (query && rounding.form == Form::product) {
              EXPECT_LE(length, 1 + 1e-15L);
            }
          }
        }
      }
    }
  }
  EXPECT_GT(usual, 50'000);  // most are, or nothing was tested
}

}  // namespace
}  // namespace nearfield
