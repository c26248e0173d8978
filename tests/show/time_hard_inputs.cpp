// Searches by tiles against searches without, over data that is hard for the filter: none may take
// more than three times as long, nor more than 1.15 times as long as by tiles of int8. By hand, on
// a machine that does nothing else:
//   build/release/tests/time_hard_inputs
#include <cmath>
#include <cstdio>

#include <fmt/format.h>

#include "core/random.hpp"
#include "tests/oracle/data.hpp"
#include "tests/show/timed_search.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kCols = 128;
constexpr std::int64_t kManyCols = 4096;  // of which bytes lose too much
constexpr double kMostTimes = 3;
constexpr int kRuns = 7;
constexpr int kMoreRounds = 3;  // where it looks too slow: it must stay so

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

bool compare(const Input& input, Metric metric) {
  TimedSearch search(input, metric);
  const auto times = [&](Way way) { return search.seconds(Way::chosen) / search.seconds(way); };
  const auto fast_enough = [&] {
    return times(Way::plain) <= kMostTimes && times(Way::int8) <= kMostOfInt8;
  };
  search.run({Way::chosen, Way::int8, Way::plain}, kRuns);
  for (int i = 0; i < kMoreRounds && !fast_enough(); ++i) {
    search.run({Way::chosen, Way::int8, Way::plain}, kRuns);
  }
  const Timed& tiles = search.by(Way::chosen);
  fmt::print(
      "{:14} {:24} {:4} queries  {} tiles {:7.2f} ms  {:5.1f} % verified  plain {:7.2f} ms  "
      "{:5.2f} "
      "times  int8 {:7.2f} ms  {:5.2f} times  {:5.1f} %{}\n",
      to_string(metric), input.name, input.queries.rows(), tiles.filter, 1e3 * tiles.seconds,
      100 * tiles.verified, 1e3 * search.seconds(Way::plain), times(Way::plain),
      1e3 * search.seconds(Way::int8), times(Way::int8), 100 * search.by(Way::int8).verified,
      fast_enough() ? "" : "  TOO SLOW");
  std::fflush(stdout);
  return fast_enough();
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
  if (!few || !many) {
    fmt::print("an input took more than {} times as long, or {} times as long as by int8\n",
               nearfield::kMostTimes, nearfield::kMostOfInt8);
  }
  return few && many ? 0 : 1;
}
