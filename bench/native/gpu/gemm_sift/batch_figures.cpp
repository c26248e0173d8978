// Figures 5.2 to 5.13: products over the queries of a batch, over padding and over queues, of
// random vectors: what they hold does not change the time.
#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/native/gpu/gemm_sift/contenders.hpp"
#include "bench/native/gpu/gemm_sift/figures.hpp"

namespace nearfield::bench {
namespace {

using Counts = std::vector<std::int64_t>;

constexpr std::int64_t kTableValueBytes = sizeof(float);

// Queries and rows, and batches and queues to try.
struct BatchGrid {
  std::int64_t queries;
  std::int64_t rows;
  Counts batches;
  std::int64_t batch_of_queues;  // the best there; of each queue
};

Counts queues_of(Size size) { return size == Size::full ? Counts{1, 2, 3, 4, 6, 8} : Counts{1, 2}; }

BatchGrid many_rows(Size size) {
  switch (size) {
    case Size::tiny:
      return {24, 300, {8, 24}, 8};
    case Size::quick:
      return {1'000, 20'000, {64, 128, 250, 256, 512, 1'000}, 128};
    default:
      return {10'000, 1'000'000, {40, 100, 128, 256, 383, 384, 512, 1'000, 2'000, 4'200}, 383};
  }
}

BatchGrid many_queries(Size size) {
  switch (size) {
    case Size::tiny:
      return {300, 24, {100, 300}, 100};
    case Size::quick:
      return {20'000, 1'000, {64, 256, 1'024, 4'096, 20'000}, 1'024};
    default:
      return {1'000'000,
              10'000,
              {256, 1'024, 4'096, 10'000, 16'384, 29'729, 65'536, 200'000, 400'000},
              10'000};
  }
}

BatchGrid few(Size size) {
  switch (size) {
    case Size::tiny:
      return {24, 24, {8, 24}, 8};
    case Size::quick:
      return {1'000, 1'000, {64, 128, 250, 256, 512, 1'000}, 128};
    default:
      return {
          10'000, 10'000, {40, 128, 256, 512, 1'024, 1'500, 1'750, 2'000, 5'000, 10'000}, 1'750};
  }
}

bool has_tables(const Measuring& measuring, std::int64_t rows, std::int64_t batch,
                std::int64_t queues) {
  return measuring.has_room(fmt::format("tables of {} queries, {} of them", batch, queues),
                            batch * rows * queues * kTableValueBytes);
}

void measure_batches(Measuring& measuring, const BatchGrid& grid) {
  const Problem problem(unit_vectors(grid.queries, grid.rows));
  for (const std::int64_t batch : grid.batches) {
    const Point point{
        .queries = grid.queries, .rows = grid.rows, .cols = kDescriptorCols, .batch = batch};
    if (!measuring.has_time(point)) return;
    if (!has_tables(measuring, grid.rows, batch, 1)) continue;
    measuring.measure(point, [&]() -> Contenders {
      const BatchShape shape = problem.shape(batch);
      return {
          tables_alone("products, 16-bit sums", measuring, problem, Precision::half_16, shape),
          tables_alone("products, 32-bit sums", measuring, problem, Precision::float_16, shape)};
    });
  }
}

void measure_queues(Measuring& measuring, const BatchGrid& grid) {
  const Problem problem(unit_vectors(grid.queries, grid.rows));
  for (const std::int64_t queues : queues_of(measuring.size())) {
    const Point point{.queries = grid.queries,
                      .rows = grid.rows,
                      .cols = kDescriptorCols,
                      .batch = grid.batch_of_queues,
                      .queues = queues};
    if (!measuring.has_time(point)) return;
    if (!has_tables(measuring, grid.rows, grid.batch_of_queues, queues)) continue;
    measuring.measure(point, [&]() -> Contenders {
      const BatchShape shape = problem.shape(grid.batch_of_queues, queues);
      return {
          by_products("on the device, 16-bit sums", measuring, problem, Precision::half_16, shape),
          by_products_from_host("from the host, 16-bit sums", measuring, problem,
                                Precision::half_16, shape)};
    });
  }
}

constexpr std::int64_t kPaddedTo = 16;  // rows, in the thesis

// Rows of zeros: their products are 0, and those of all others are larger.
Descriptors padded(const Descriptors& descriptors) {
  const std::int64_t rows = (descriptors.rows.rows() + kPaddedTo - 1) / kPaddedTo * kPaddedTo;
  Matrix more(descriptors.rows.dtype(), rows, kDescriptorCols);
  std::copy_n(descriptors.rows.row(0), descriptors.rows.bytes(), more.row(0));
  Matrix queries(descriptors.queries.dtype(), descriptors.queries.rows(), kDescriptorCols);
  std::copy_n(descriptors.queries.row(0), descriptors.queries.bytes(), queries.row(0));
  return {descriptors.data, std::move(queries), std::move(more), descriptors.norm,
          descriptors.largest};
}

struct PaddingGrid {
  std::int64_t queries;
  std::int64_t batch;
  Counts rows;  // 7 more than a multiple of 16
};

PaddingGrid padding_grid(Size size) {
  switch (size) {
    case Size::tiny:
      return {24, 8, {7, 103}};
    case Size::quick:
      return {1'000, 256, {1'031, 5'127, 20'007}};
    default:
      return {10'000, 383, {16'007, 160'007, 400'007, 640'007, 1'040'007}};
  }
}

}  // namespace

void measure_batches_of_many_rows(Measuring& measuring) {
  measure_batches(measuring, many_rows(measuring.size()));
}
void measure_batches_of_many_queries(Measuring& measuring) {
  measure_batches(measuring, many_queries(measuring.size()));
}
void measure_batches_of_few(Measuring& measuring) {
  measure_batches(measuring, few(measuring.size()));
}

void measure_queues_of_many_rows(Measuring& measuring) {
  measure_queues(measuring, many_rows(measuring.size()));
}
void measure_queues_of_many_queries(Measuring& measuring) {
  measure_queues(measuring, many_queries(measuring.size()));
}
void measure_queues_of_few(Measuring& measuring) {
  measure_queues(measuring, few(measuring.size()));
}

void measure_padding(Measuring& measuring) {
  const PaddingGrid grid = padding_grid(measuring.size());
  for (const std::int64_t rows : grid.rows) {
    const Point point{
        .queries = grid.queries, .rows = rows, .cols = kDescriptorCols, .batch = grid.batch};
    if (!measuring.has_time(point)) return;
    if (!has_tables(measuring, rows, grid.batch, 1)) continue;
    const Problem given(unit_vectors(grid.queries, rows));
    const Problem with_zeros(padded(given.descriptors));
    measuring.measure(point, [&]() -> Contenders {
      return {by_products("as given, 16-bit sums", measuring, given, Precision::half_16,
                          given.shape(grid.batch)),
              by_products("padded, 16-bit sums", measuring, with_zeros, Precision::half_16,
                          with_zeros.shape(grid.batch)),
              by_products("as given, 32-bit sums", measuring, given, Precision::float_16,
                          given.shape(grid.batch)),
              by_products("padded, 32-bit sums", measuring, with_zeros, Precision::float_16,
                          with_zeros.shape(grid.batch))};
    });
  }
}

}  // namespace nearfield::bench
