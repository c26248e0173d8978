// Tiles of int8 against tiles of bf16 and what a search chooses of them, over inputs of which the
// last had no part in the tuning: the choice may not take more than 1.15 times as long as int8.
// Prints the table of ARCHITECTURE.md: ms by int8 and by bf16, their quotient and, in brackets,
// what was predicted of it. By hand, on a machine that does nothing else, some minutes:
//   build/release/tests/time_tile_choice
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <span>
#include <string>

#include <fmt/format.h>

#include "core/random.hpp"
#include "filter/rounded/bf16_gain.hpp"
#include "tests/show/timed_search.hpp"

namespace nearfield {
namespace {

constexpr int kRuns = 3;
constexpr int kMoreRounds = 4;  // where the choice looks too slow: it must stay so

using FillRow = std::function<void(Random& random, std::span<float> row)>;

struct Distribution {
  const char* name;
  FillRow fill;
};

template <class Value>
FillRow each(const Value& value) {
  return [=](Random& random, std::span<float> row) {
    for (float& x : row) x = static_cast<float>(value(random));
  };
}

// Values of all columns alike, times a length of the row.
template <class Length>
FillRow with_length(const Length& length) {
  return [=](Random& random, std::span<float> row) {
    const double scale = length(random);
    for (float& x : row) x = static_cast<float>(scale * random.normal());
  };
}

double uniform(Random& random) { return 2 * random.uniform() - 1; }
double gaussian(Random& random) { return random.normal(); }

// Student's t with three degrees of freedom.
double heavy_tailed(Random& random) {
  double squares = 0;
  for (int i = 0; i < 3; ++i) {
    const double x = random.normal();
    squares += x * x;
  }
  return random.normal() / std::sqrt(squares / 3);
}

double sparse(Random& random) { return random.below(20) == 0 ? std::abs(random.normal()) : 0; }

// One of 50 centres, and what is around it.
void clustered(Random& random, std::span<float> row) {
  Random centre(77, static_cast<std::uint64_t>(random.below(50)));
  for (float& x : row) x = static_cast<float>(centre.normal() + 0.3 * random.normal());
}

// As those of principal components.
void decaying(Random& random, std::span<float> row) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    row[i] = static_cast<float>(random.normal() / std::sqrt(1.0 + static_cast<double>(i)));
  }
}

const Distribution kUniform{"uniform", each(uniform)};
const Distribution kGaussian{"gaussian", each(gaussian)};
const Distribution kHeavyTailed{"heavy tails", each(heavy_tailed)};
const Distribution kSparse{"sparse", each(sparse)};
const Distribution kClustered{"clustered", clustered};
const Distribution kDecaying{"decaying columns", decaying};
const Distribution kThreeScales{"lengths 1, 5, 25", with_length([](Random& random) {
                                  return std::pow(5.0, static_cast<double>(random.below(3)));
                                })};
const Distribution kHalfLogNormal{"log-normal lengths, 0.5", with_length([](Random& random) {
                                    return std::exp(0.5 * random.normal());
                                  })};
const Distribution kLogNormal{"log-normal lengths, 1.5", with_length([](Random& random) {
                                return std::exp(1.5 * random.normal());
                              })};

// Not one of the following was looked at before the constants were what they are.
double exponential(Random& random) { return -std::log(1 - random.uniform()); }

// 20 directions hold almost all of it.
void low_rank(Random& random, std::span<float> row) {
  std::fill(row.begin(), row.end(), 0.0F);
  for (std::uint64_t i = 0; i < 20; ++i) {
    Random direction(78, i);
    const double part = random.normal();
    for (float& x : row) x += static_cast<float>(part * direction.normal());
  }
  for (float& x : row) x += static_cast<float>(0.05 * random.normal());
}

// One row of a hundred is 20 times as long as the others.
double seldom_long(Random& random) { return random.below(100) == 0 ? 20 : 1; }

const Distribution kExponential{"exponential", each(exponential)};
const Distribution kLowRank{"20 directions", low_rank};
const Distribution kSeldomLong{"1 of 100 rows long", with_length(seldom_long)};
const Distribution kEvenLengths{"lengths 0 to 1, even",
                                with_length([](Random& random) { return random.uniform(); })};

struct Case {
  Distribution distribution;
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t queries;
};

const Case kCases[] = {
    {kUniform, 180'000, 64, 350},       {kUniform, 40'000, 384, 250},
    {kUniform, 25'000, 1024, 200},      {kGaussian, 170'000, 64, 250},
    {kGaussian, 70'000, 200, 250},      {kGaussian, 50'000, 384, 120},
    {kGaussian, 35'000, 768, 250},      {kGaussian, 24'000, 1024, 250},
    {kGaussian, 20'000, 2500, 120},     {kHeavyTailed, 120'000, 64, 250},
    {kHeavyTailed, 60'000, 200, 150},   {kHeavyTailed, 25'000, 768, 120},
    {kSparse, 70'000, 200, 250},        {kSparse, 22'000, 1024, 120},
    {kClustered, 150'000, 64, 250},     {kClustered, 40'000, 384, 150},
    {kClustered, 24'000, 1024, 150},    {kDecaying, 70'000, 200, 250},
    {kDecaying, 25'000, 768, 150},      {kThreeScales, 120'000, 64, 250},
    {kThreeScales, 70'000, 200, 150},   {kThreeScales, 25'000, 768, 120},
    {kHalfLogNormal, 120'000, 64, 250}, {kHalfLogNormal, 40'000, 384, 150},
    {kHalfLogNormal, 25'000, 1024, 60}, {kLogNormal, 120'000, 64, 250},
    {kLogNormal, 60'000, 200, 40},      {kLogNormal, 24'000, 1024, 120},
    {kExponential, 90'000, 96, 200},    {kExponential, 30'000, 512, 80},
    {kLowRank, 80'000, 160, 180},       {kLowRank, 22'000, 960, 90},
    {kSeldomLong, 110'000, 96, 220},    {kSeldomLong, 45'000, 320, 160},
    {kSeldomLong, 21'000, 1200, 70},    {kEvenLengths, 130'000, 80, 180},
    {kEvenLengths, 45'000, 256, 220},   {kEvenLengths, 28'000, 640, 110},
};

Matrix matrix_of(const FillRow& fill, std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  Matrix matrix(DType::f32, rows, cols);
  for (std::int64_t i = 0; i < rows; ++i) {
    Random random(seed, static_cast<std::uint64_t>(i));
    fill(random, {reinterpret_cast<float*>(matrix.row(i)), static_cast<std::size_t>(cols)});
  }
  return matrix;
}

double predicted_gain(const Input& input, Metric metric) {
  BaseRounding rounding =
      *choose_rounding(metric, DType::f32, DType::f32, input.base.cols(), default_isa());
  const Context context;
  const Monitor monitor(context, 1);
  fit_rounding(rounding, input.base, monitor);
  return bf16_gain(rounding, {input.queries}, {input.base}, {10, input.base.rows()}, monitor);
}

struct Compared {
  std::string text;
  double times;  // what the choice takes, in terms of int8
};

Compared compare(const Input& input, Metric metric) {
  TimedSearch search(input, metric);
  const auto times = [&] { return search.seconds(Way::chosen) / search.seconds(Way::int8); };
  search.run({Way::int8, Way::bf16, Way::chosen}, kRuns);
  for (int i = 0; i < kMoreRounds && times() > kMostOfInt8; ++i) {
    search.run({Way::int8, Way::chosen}, kRuns);
  }
  const double int8 = search.seconds(Way::int8);
  const double bf16 = search.seconds(Way::bf16);
  return {fmt::format("{:.0f}, {:.0f}: {:.2f} ({:.2f}){}", 1e3 * int8, 1e3 * bf16, int8 / bf16,
                      predicted_gain(input, metric),
                      search.by(Way::chosen).filter == "bf16" ? ", taken" : "") +
              (times() > kMostOfInt8 ? fmt::format(", TOO SLOW: {:.2f}", times()) : ""),
          times()};
}

double compare_all() {
  fmt::print(
      "| values | rows x columns, queries | `sqeuclidean` | `inner_product` | `cosine` |\n"
      "|---|---|---|---|---|\n");
  double worst = 0;
  std::uint64_t seed = 9000;
  for (const Case& one : kCases) {
    const FillRow& fill = one.distribution.fill;
    const Input input{one.distribution.name, matrix_of(fill, one.queries, one.cols, ++seed),
                      matrix_of(fill, one.rows, one.cols, ++seed)};
    fmt::print("| {} | {} x {}, {} |", input.name, one.rows, one.cols, one.queries);
    for (const Metric metric : {Metric::sqeuclidean, Metric::inner_product, Metric::cosine}) {
      const Compared compared = compare(input, metric);
      fmt::print(" {} |", compared.text);
      worst = std::max(worst, compared.times);
    }
    fmt::print("\n");
    std::fflush(stdout);
  }
  return worst;
}

}  // namespace
}  // namespace nearfield

int main() {
  const double worst = nearfield::compare_all();
  fmt::print("the choice took at most {:.2f} times as long as int8\n", worst);
  return worst <= nearfield::kMostOfInt8 ? 0 : 1;
}
