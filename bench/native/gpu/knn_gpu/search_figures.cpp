// Figures 5.8, 5.9, 5.12, 5.13 and 5.14: whole searches for the k nearest.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "bench/native/gpu/knn_gpu/copies.hpp"
#include "bench/native/gpu/knn_gpu/figures.hpp"
#include "bench/native/gpu/knn_gpu/searches.hpp"

namespace nearfield::bench {
namespace {

using Numbers = std::vector<std::int64_t>;

// Every k of every number of columns.
struct SearchGrid {
  std::int64_t queries;
  std::int64_t rows;
  Numbers cols;
  Numbers ks;  // ascending
};

// Vectors and tables are cut where they are made; of a row, the host has the vector some times.
std::int64_t fitting_rows(Measuring& measuring, const SearchGrid& grid) {
  const std::int64_t widest = 4 * *std::max_element(grid.cols.begin(), grid.cols.end());
  return measuring.fitting("rows", grid.rows, widest, 4 * widest);
}

// make: the contenders of a search and a k. False where time was over before the end.
template <class Make>
bool measure_grid(Measuring& measuring, const SearchGrid& grid, const Make& make) {
  const std::int64_t rows = fitting_rows(measuring, grid);
  for (const std::int64_t cols : grid.cols) {
    std::optional<Search> search;
    std::optional<HalfTables> tables;
    for (const std::int64_t k : grid.ks) {
      const Point point{.queries = grid.queries, .rows = rows, .cols = cols, .k = k};
      if (!measuring.has_time(point)) return false;
      measuring.measure(point, [&] {
        if (!search) search.emplace(grid.queries, rows, cols, grid.ks.back());
        if (!tables) tables.emplace(measuring, *search);
        return make(*search, *tables, k);
      });
    }
  }
  return true;
}

void add_fused(const Measuring& measuring, const Search& search, std::int64_t k,
               Contenders& contenders) {
  if (k > kMostFusedK) return;
  contenders.push_back(by_knn(search, k, measuring.context(), "fused"));
}

// In one kernel, if k allows, and by the other ways of a search; then in two steps.
Contenders one_and_two(const Measuring& measuring, const Search& search, const HalfTables& tables,
                       std::int64_t k) {
  Contenders contenders;
  add_fused(measuring, search, k, contenders);
  contenders.push_back(by_knn(search, k, measuring.context(), "keys"));
  contenders.push_back(by_knn(search, k, measuring.context(), "halves"));
  contenders.push_back(by_two_calls(search, k, measuring));
  contenders.push_back(tables.select(k, selector_named("bits")));
  return contenders;
}

SearchGrid fused_grid(Size size) {
  switch (size) {
    case Size::tiny:
      return {8, 512, {16}, {8}};
    case Size::quick:
      return {256, 4096, {8, 32, 128}, {8, 32, 64}};
    default:
      return {8192, 1 << 19, {4, 8, 16, 32, 64, 128}, {1, 2, 4, 8, 16, 32, 64, 128, 256}};
  }
}

// As many pairs for each number of queries.
struct QueriesGrid {
  std::int64_t pairs;
  Numbers queries;
};

QueriesGrid queries_grid(Size size) {
  switch (size) {
    case Size::tiny:
      return {1 << 12, {8}};
    case Size::quick:
      return {1 << 21, {16, 128, 1024, 8192}};
    default:
      return {std::int64_t{1} << 32, {512, 1024, 2048, 4096, 8192, 16384, 32768}};
  }
}

SearchGrid search_grid(Size size) {
  switch (size) {
    case Size::tiny:
      return {8, 512, {16}, {8}};
    case Size::quick:
      return {64, 1 << 14, {8, 32, 128}, {64, 2048, 4096}};
    default:
      return {8192, 1 << 17, {8, 16, 32, 64, 128}, {8, 32, 64, 128, 512, 2048, 4096, 8192}};
  }
}

SearchGrid speed_up_grid(Size size) {
  switch (size) {
    case Size::tiny:
      return {8, 512, {16}, {8}};
    case Size::quick:
      return {64, 1 << 14, {8, 32, 128}, {32, 512}};
    default:
      return {1024, 1 << 21, {4, 8, 16, 32, 64, 128, 256}, {32, 512}};
  }
}

}  // namespace

void measure_fused(Measuring& measuring) {
  measure_grid(measuring, fused_grid(measuring.size()),
               [&](const Search& search, const HalfTables& tables, std::int64_t k) {
                 return one_and_two(measuring, search, tables, k);
               });
}

void measure_fused_queries(Measuring& measuring) {
  const QueriesGrid grid = queries_grid(measuring.size());
  for (const std::int64_t queries : grid.queries) {
    const bool in_time =
        measure_grid(measuring, {queries, grid.pairs / queries, {16}, {32}},
                     [&](const Search& search, const HalfTables& tables, std::int64_t k) {
                       return one_and_two(measuring, search, tables, k);
                     });
    if (!in_time) return;
  }
}

void measure_searches(Measuring& measuring) {
  measure_grid(measuring, search_grid(measuring.size()),
               [&](const Search& search, const HalfTables& tables, std::int64_t k) {
                 Contenders contenders = {by_knn(search, k, measuring.context())};
                 add_fused(measuring, search, k, contenders);
                 for (const auto name : {"bits", "bits_in_memory", "sample_two_stage", "radix"}) {
                   const DeviceSelector& selector = selector_named(name);
                   if (k <= selector.most_k) contenders.push_back(tables.select(k, selector));
                 }
                 return contenders;
               });
}

void measure_speed_up(Measuring& measuring) {
  measure_grid(measuring, speed_up_grid(measuring.size()),
               [&](const Search& search, const HalfTables& tables, std::int64_t k) -> Contenders {
                 return {by_knn(search, k, {}), by_knn(search, k, measuring.context()),
                         tables.select(k, selector_named("bits"))};
               });
}

void measure_transfer(Measuring& measuring) {
  measure_grid(measuring, speed_up_grid(measuring.size()),
               [&](const Search& search, const HalfTables& tables, std::int64_t k) -> Contenders {
                 return {by_knn(search, k, measuring.context()),
                         tables.select(k, selector_named("bits")), copied_there(search, measuring),
                         copied_back(search, k, measuring)};
               });
}

}  // namespace nearfield::bench
