// How fast a table of pivots is read, and how large it is: time_pivot_scan [OBJECTS]
//
// Numbers on a line, 8 distances kept of each, one thread. Beside it, how fast the same bytes are
// read by memchr, which looks at each. Exit code 1 where a table of 8 bits takes more than 1.1
// times its distances (of KVP, also the numbers of their pivots), or is scanned at less than 60 %
// of that speed.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
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

struct Wanted {
  std::int64_t bytes;  // of an object
  double share;        // of reading
};

// Whether it is as wanted.
bool show(const char* name, const PivotOptions& options, const std::vector<double>& numbers,
          const Wanted& wanted) {
  PivotIndex<double, Line> index(Line{}, options);
  index.add(numbers);
  const MetricIndexStats stats = index.index().stats();
  const Context context{.threads = 1};
  const std::vector<double> query{0.5};
  // One object beside the pivots, or these would not be looked at.
  const std::int64_t budget = stats.pivots + 1;
  const double scan =
      best_seconds([&] { index.within(query, {.radius = 0, .budget = budget}, context); });
  const std::vector<std::uint8_t> plain(static_cast<std::size_t>(stats.filter_bytes), 1);
  bool found = false;
  const double read = best_seconds([&] {
    const void* bytes = plain.data();
    asm volatile("" : "+r"(bytes) : : "memory");  // else one answer would do for all rounds
    found |= std::memchr(bytes, 2, plain.size()) != nullptr;
  });
  const double size = static_cast<double>(stats.filter_bytes) /
                      static_cast<double>(wanted.bytes * std::ssize(numbers));
  const double share = read / scan;
  fmt::print(
      "{}: {} bytes, {:.3f} x {} an object, and {} of ids; in {:.2f} ms, {:.1f} GB/s; read "
      "in {:.2f} ms: {:.0f} %{}\n",
      name, stats.filter_bytes, size, wanted.bytes, stats.id_bytes, 1e3 * scan,
      static_cast<double>(stats.filter_bytes) / scan / 1e9, 1e3 * read, 100 * share,
      found ? " " : "");
  return size <= 1.1 && share >= wanted.share;
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t count = argc > 1 ? std::atoll(argv[1]) : 10'000'000;
  Random random(1);
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(random.uniform());
  const bool laesa = show("LAESA, 8 pivots", {.pool = 8}, numbers, {8, 0.6});
  const bool kvp = show("KVP, 8 of 16 pivots", {.pool = 16, .kept = 8}, numbers, {16, 0.6});
  show("KVP, 8 of 50 pivots", {.pool = 50, .kept = 8}, numbers, {16, 0});  // four lookups each
  return laesa && kvp ? 0 : 1;
}
