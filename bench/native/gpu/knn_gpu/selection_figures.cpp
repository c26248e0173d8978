// Figures 5.6, 5.7 and 5.11: the first k of distances, by kernels alone.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "bench/native/gpu/knn_gpu/figures.hpp"
#include "bench/native/gpu/selection_runs.hpp"
#include "select/gpu/bits_selector.hpp"

namespace nearfield::bench {
namespace {

// Small: a number. Large: some hundredths of the rows, for selectors that take any k.
enum class Selecting : std::uint8_t { small, large };

// Of a distance: the largest buffer holds an item for each, and a sort has two of those.
constexpr std::int64_t kInBuffer = kItemBytes;
constexpr std::int64_t kInAll = 4 + 3 * kItemBytes;

// As many distances of each number of rows, so that more rows have fewer queries.
struct SelectionGrid {
  std::int64_t distances;
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> ks;  // ascending; large: hundredths
};

SelectionGrid grid_of(Size size, Selecting selecting) {
  const bool small = selecting == Selecting::small;
  using Numbers = std::vector<std::int64_t>;
  switch (size) {
    case Size::tiny:
      return {1 << 12, {1 << 11}, small ? Numbers{2, 32} : Numbers{10}};
    case Size::quick:
      return {1 << 19,
              {1 << 15, 1 << 17, 1 << 19},
              small ? Numbers{2, 32, 128, 512, 2048} : Numbers{1, 10, 30, 50, 100}};
    default:
      return {std::int64_t{1} << 31,
              {1 << 15, 1 << 17, 1 << 18, 1 << 19, 1 << 20},
              small ? Numbers{2, 32, 64, 128, 256, 512, 1024, 2048}
                    : Numbers{1, 5, 10, 20, 30, 40, 50, 60, 80, 100}};
  }
}

std::int64_t k_of(std::int64_t number, std::int64_t rows, Selecting selecting) {
  return selecting == Selecting::small ? number : rows * number / 100;
}

// Those that take any k read a distance several times.
Contenders selectors(const Distances& distances, std::int64_t k, Selecting selecting) {
  Contenders contenders;
  for (const DeviceSelector& selector : device_selectors()) {
    const bool takes_any = selector.most_k == kAnyK;
    if (takes_any != (selecting == Selecting::large) || k > selector.most_k) continue;
    contenders.push_back(distances.select(std::string(selector.name), k, selector.run));
  }
  return contenders;
}

void measure(Measuring& measuring, Selecting selecting) {
  const SelectionGrid grid = grid_of(measuring.size(), selecting);
  const std::int64_t all = measuring.fitting("distances", grid.distances, kInBuffer, kInAll);
  for (const std::int64_t rows : grid.rows) {
    const std::int64_t queries = std::max<std::int64_t>(all / rows, 1);
    const std::int64_t most_k = k_of(grid.ks.back(), rows, selecting);
    std::optional<Distances> distances;
    for (const std::int64_t number : grid.ks) {
      const std::int64_t k = k_of(number, rows, selecting);
      const Point point{.queries = queries, .rows = rows, .k = k};
      if (!measuring.has_time(point)) return;
      measuring.measure(point, [&] {
        if (!distances) distances.emplace(measuring, queries, rows, most_k);
        Contenders contenders = selectors(*distances, k, selecting);
        if (selecting == Selecting::small) contenders.push_back(distances->copy());
        return contenders;
      });
    }
  }
}

struct PartsGrid {
  std::int64_t rows;
  std::vector<std::int64_t> ks;
  std::vector<std::int64_t> parts;
};

PartsGrid parts_grid_of(Size size) {
  switch (size) {
    case Size::tiny:
      return {1 << 12, {32}, {1, 2}};
    case Size::quick:
      return {1 << 20, {32, 512, 2048}, {1, 2, 16, 256}};
    default:
      return {std::int64_t{1} << 27,
              {32, 128, 512, 1024, 2048},
              {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}};
  }
}

}  // namespace

void measure_selections(Measuring& measuring) { measure(measuring, Selecting::small); }

void measure_large_selections(Measuring& measuring) { measure(measuring, Selecting::large); }

void measure_parts(Measuring& measuring) {
  const PartsGrid grid = parts_grid_of(measuring.size());
  const std::int64_t rows = measuring.fitting("rows", grid.rows, kInBuffer, kInAll);
  std::optional<Distances> distances;
  for (const std::int64_t k : grid.ks) {
    for (const std::int64_t parts : grid.parts) {
      const Point point{.queries = 1, .rows = rows, .k = k, .parts = parts};
      if (!measuring.has_time(point)) return;
      measuring.measure(point, [&]() -> Contenders {
        if (!distances) distances.emplace(measuring, 1, rows, grid.ks.back());
        return {distances->select("bits", k, [=](const SelectJob& job, Scratch& scratch) {
          run_bits_in_parts(job, parts, scratch);
        })};
      });
    }
  }
}

}  // namespace nearfield::bench
