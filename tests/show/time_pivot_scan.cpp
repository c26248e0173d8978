// How fast a table of pivots is read: time_pivot_scan [OBJECTS]
//
// Numbers on a line, 8 distances kept of each, one thread. Beside it, how fast the same bytes are
// summed up.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <vector>

#include <fmt/format.h>
#include <nearfield/pivot_index.hpp>

#include "core/random.hpp"

namespace {

using namespace nearfield;

struct Line {
  double operator()(double a, double b) const { return std::abs(a - b); }
};

template <class Work>
double best_seconds(const Work& work) {
  double best = 1e9;
  for (int round = 0; round < 7; ++round) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count());
  }
  return best;
}

void show(const char* name, const PivotOptions& options, const std::vector<double>& numbers) {
  PivotIndex<double, Line> index(Line{}, options);
  index.add(numbers);
  const std::int64_t bytes = index.index().stats().filter_bytes;
  const Context context{.threads = 1};
  const std::vector<double> query{0.5};
  const double scan =
      best_seconds([&] { index.within(query, {.radius = 0, .budget = 8}, context); });
  const std::vector<std::uint64_t> plain(static_cast<std::size_t>(bytes / 8), 1);
  std::uint64_t sum = 0;
  const double read =
      best_seconds([&] { sum += std::accumulate(plain.begin(), plain.end(), std::uint64_t{0}); });
  const double share = read / scan;
  fmt::print("{}: {} bytes in {:.2f} ms, {:.1f} GB/s; summed up in {:.2f} ms: {:.0f} %{}\n", name,
             bytes, 1e3 * scan, static_cast<double>(bytes) / scan / 1e9, 1e3 * read, 100 * share,
             sum == 0 ? " " : "");
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t count = argc > 1 ? std::atoll(argv[1]) : 10'000'000;
  Random random(1);
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(random.uniform());
  show("LAESA, 8 pivots", {.pool = 8}, numbers);
  show("KVP, 8 of 16 pivots", {.pool = 16, .kept = 8}, numbers);
  show("KVP, 8 of 50 pivots", {.pool = 50, .kept = 8}, numbers);
}
