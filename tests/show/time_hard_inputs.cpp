// Searches by tiles against searches without, over data that is hard for the filter: none may take
// more than three times as long. By hand, on a machine that does nothing else:
//   build/release/tests/time_hard_inputs
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>

#include <fmt/format.h>
#include <nearfield/knn.hpp>

#include "core/random.hpp"
#include "search/plan.hpp"
#include "tests/oracle/data.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kCols = 128;
constexpr std::int64_t kManyCols = 4096;  // of which bytes lose too much
constexpr double kMostTimes = 3;
constexpr int kRuns = 7;

struct Input {
  std::string name;
  Matrix queries;
  Matrix base;
};

// Gaussian directions; the length of row i is length(i, random).
template <class Length>
Matrix with_lengths(std::int64_t rows, std::uint64_t seed, const Length& length,
                    std::int64_t cols = kCols) {
  Matrix matrix(DType::f32, rows, cols);
  for (std::int64_t i = 0; i < rows; ++i) {
    Random random(seed, static_cast<std::uint64_t>(i));
    const double scale = length(i, random) / std::sqrt(static_cast<double>(cols));
    auto* row = reinterpret_cast<float*>(matrix.row(i));
    for (std::int64_t j = 0; j < cols; ++j) row[j] = static_cast<float>(scale * random.normal());
  }
  return matrix;
}

Input of_kind(data::Kind kind, std::int64_t queries, std::int64_t rows) {
  return {std::string(data::to_string(kind)),
          data::make_matrix({kind, DType::f32, queries, kCols, 2}),
          data::make_matrix({kind, DType::f32, rows, kCols, 1})};
}

// Of the lengths' logarithms.
Input log_normal(double deviation, std::int64_t queries, std::int64_t rows) {
  const auto length = [&](std::int64_t, Random& random) {
    return std::exp(deviation * random.normal());
  };
  return {fmt::format("log_normal_norms, {}", deviation), with_lengths(queries, 2, length),
          with_lengths(rows, 1, length)};
}

Input wide(std::int64_t queries, std::int64_t rows) {
  const auto length = [](std::int64_t, Random&) { return 1; };
  return {fmt::format("gaussian, {} columns", kManyCols),
          with_lengths(queries, 2, length, kManyCols), with_lengths(rows, 1, length, kManyCols)};
}

// From a query near the origin, each row is nearer than all before it, or farther.
Input sorted(bool rising, std::int64_t queries, std::int64_t rows) {
  const auto near = [](std::int64_t, Random&) { return 1e-3; };
  const auto length = [&](std::int64_t i, Random&) {
    return 1 + 10 * static_cast<double>(rising ? i : rows - i) / static_cast<double>(rows);
  };
  return {rising ? "sorted" : "reverse_sorted", with_lengths(queries, 2, near),
          with_lengths(rows, 1, length)};
}

struct Timed {
  double seconds = std::numeric_limits<double>::infinity();
  double verified = 0;  // of all pairs
  std::string filter;
};

// By tiles as a search chooses them, by those of int8, and without.
enum class Way { chosen, int8, plain };

void run(const Input& input, Metric metric, Way way, Timed& timed) {
  default_tuning() = Tuning();
  TileTuning& tiles = default_tuning().tiles;
  if (way == Way::int8) tiles.least_bf16_gain = std::numeric_limits<double>::infinity();
  if (way == Way::plain) tiles.least_queries = std::numeric_limits<std::int64_t>::max();
  const KnnOptions options{.k = 10, .metric = metric};
  const Stats stats = knn(input.queries, input.base, options, {.threads = 1}).stats;
  timed.seconds = std::min(timed.seconds, stats.seconds);
  timed.verified = static_cast<double>(stats.pairs_verified) /
                   static_cast<double>(input.queries.rows() * input.base.rows());
  timed.filter = stats.plan.filter.substr(0, stats.plan.filter.find(' '));
}

// In turn, and the least of several: what else the machine does passes.
bool compare(const Input& input, Metric metric) {
  Timed tiles;
  Timed int8;
  Timed plain;
  for (int i = 0; i < kRuns; ++i) {
    run(input, metric, Way::chosen, tiles);
    run(input, metric, Way::int8, int8);
    run(input, metric, Way::plain, plain);
  }
  const double times = tiles.seconds / plain.seconds;
  fmt::print(
      "{:14} {:24} {:4} queries  {} tiles {:7.2f} ms  plain {:7.2f} ms  {:5.2f} times  {:5.1f} % "
      "verified",
      to_string(metric), input.name, input.queries.rows(), tiles.filter, 1e3 * tiles.seconds,
      1e3 * plain.seconds, times, 100 * tiles.verified);
  if (tiles.filter != int8.filter) {
    fmt::print("; int8 {:7.2f} ms  {:5.1f} %", 1e3 * int8.seconds, 100 * int8.verified);
  }
  fmt::print("\n");
  std::fflush(stdout);
  return times <= kMostTimes;
}

bool compare_all(std::int64_t queries, std::int64_t rows) {
  bool all = true;
  const auto compare_metrics = [&](const Input& input) {
    for (const Metric metric : {Metric::sqeuclidean, Metric::inner_product, Metric::cosine}) {
      all = compare(input, metric) && all;
    }
  };
  for (const data::Kind kind : data::kinds()) compare_metrics(of_kind(kind, queries, rows));
  compare_metrics(log_normal(3, queries, rows));
  compare_metrics(log_normal(1, queries, rows));
  compare_metrics(wide(queries, rows / 5));
  compare_metrics(sorted(true, queries, rows));
  compare_metrics(sorted(false, queries, rows));
  return all;
}

}  // namespace
}  // namespace nearfield

int main() {
  // The fewest queries for which there are tiles, and many.
  const bool few = nearfield::compare_all(24, 20'000);
  const bool many = nearfield::compare_all(200, 10'000);
  if (!few || !many)
    fmt::print("an input took more than {} times as long\n", nearfield::kMostTimes);
  return few && many ? 0 : 1;
}
