// Tables 5.1 to 5.12, Figure 5.20 and frames: times and recalls of whole matchings.
#include <fmt/format.h>

#include "bench/native/gpu/gemm_sift/figures.hpp"
#include "bench/native/gpu/gemm_sift/recall.hpp"

namespace nearfield::bench {
namespace {

struct MatchSize {
  std::int64_t queries;
  std::int64_t rows;
  std::int64_t batch;
  std::int64_t naive_queries;  // the first: on a CPU a block of a warp a pair takes microseconds
};

MatchSize sift_size(Size size) {
  switch (size) {
    case Size::tiny:
      return {24, 300, 8, 24};
    case Size::quick:
      return {1'000, 20'000, 256, 40};
    default:
      return {10'000, 1'000'000, 383, 10'000};
  }
}

MatchSize frame_size(Size size) {
  switch (size) {
    case Size::tiny:
      return {40, 40, 16, 0};
    case Size::quick:
      return {6'000, 6'000, 1'024, 0};
    default:
      return {45'000, 45'000, 4'096, 0};
  }
}

Point point_of(const MatchSize& size) {
  return {.queries = size.queries,
          .rows = size.rows,
          .cols = kDescriptorCols,
          .k = 2,
          .batch = size.batch};
}

void recall_of_precision(const Measuring& measuring, const Problem& problem, Precision precision,
                         const BatchShape& shape, std::span<const Ratio> ratios = kRatios) {
  const std::string series(to_string(precision));
  BatchedRun run(measuring.device(), shape,
                 product_fill(measuring, problem.descriptors, precision, shape));
  run.run();
  const std::vector<DeviceItem> items = run.read();
  check_products(series, problem, items, product_bound(problem.descriptors, precision));
  report_recall(measuring, problem, series, matches_by_products(items, problem.descriptors.norm),
                ratios);
}

void report_naive(const Measuring& measuring, const Problem& problem, std::int64_t batch) {
  const BatchShape shape = problem.shape(batch);
  BatchedRun run(measuring.device(), shape, naive_fill(measuring, problem.descriptors, shape));
  run.run();
  const std::vector<DeviceItem> items = run.read();
  check_naive("naive", problem, items);
  report_recall(measuring, problem, "naive", matches_by_squares(items));
}

// Of dot products in every precision, of the naive kernel's distances, and of the exact answer.
void report_recalls(Measuring& measuring, const Problem& problem, const MatchSize& size) {
  measuring.note(norms_of(problem.descriptors));
  const BatchShape shape = problem.shape(size.batch);
  for (const Precision precision : kPrecisions) {
    if (!measuring.has_time(point_of(size))) return;
    recall_of_precision(measuring, problem, precision, shape);
  }
  if (!measuring.has_time(point_of(size))) return;
  report_naive(measuring, Problem(first_queries(problem.descriptors, size.naive_queries)),
               size.batch);
  const Neighbors exact =
      knn(problem.descriptors.queries, problem.descriptors.rows, {.k = 2}, measuring.context());
  check_exact("knn, exact", problem, exact);
  report_recall(measuring, problem, "knn, exact", matches_of(exact));
}

}  // namespace

void recall_of_sift(Measuring& measuring, const DataFolders& folders) {
  const MatchSize size = sift_size(measuring.size());
  const Problem sift(sift_bytes(folders.sift, measuring.size(), size.queries, size.rows));
  report_recalls(measuring, sift, size);
  // Its own set's norms differ, ours hardly do: how far must they, to lose what was lost there?
  for (const double spread : {0.002, 0.005, 0.01, 0.02, 0.05}) {
    if (!measuring.has_time(point_of(size))) return;
    const Problem spread_out(with_spread(sift.descriptors, spread));
    recall_of_precision(measuring, spread_out, Precision::float_16, spread_out.shape(size.batch),
                        std::span(kRatios).first(2));
  }
}

void recall_of_random(Measuring& measuring) {
  const MatchSize size = sift_size(measuring.size());
  report_recalls(measuring, Problem(unit_vectors(size.queries, size.rows)), size);
}

void measure_times(Measuring& measuring, const DataFolders& folders) {
  const MatchSize size = sift_size(measuring.size());
  const Problem problem(sift_bytes(folders.sift, measuring.size(), size.queries, size.rows));
  measuring.measure(point_of(size), [&]() -> Contenders {
    const BatchShape shape = problem.shape(size.batch);
    return {by_products("16-bit sums", measuring, problem, Precision::half_16, shape),
            by_products_from_host("16-bit sums, from the host", measuring, problem,
                                  Precision::half_16, shape),
            by_products("32-bit sums", measuring, problem, Precision::float_16, shape),
            by_products("64-bit sums", measuring, problem, Precision::float_32, shape),
            by_exact_knn(problem, measuring.context()),
            by_exact_knn(problem, {})};
  });
  const MatchSize fewer{size.naive_queries, size.rows, size.batch, size.naive_queries};
  const Problem naive(first_queries(problem.descriptors, fewer.queries));
  measuring.measure(point_of(fewer), [&]() -> Contenders {
    const BatchShape shape = naive.shape(fewer.batch);
    return {by_products("16-bit sums", measuring, naive, Precision::half_16, shape),
            by_naive(measuring, naive, shape)};
  });
}

void measure_frames(Measuring& measuring, const DataFolders& folders) {
  const MatchSize size = frame_size(measuring.size());
  const Problem problem(sift_bytes(folders.frames, measuring.size(), size.queries, size.rows));
  measuring.measure(point_of(size), [&]() -> Contenders {
    const BatchShape shape = problem.shape(size.batch);
    return {by_products("16-bit sums", measuring, problem, Precision::half_16, shape),
            by_products("32-bit sums", measuring, problem, Precision::float_16, shape),
            by_match(problem, measuring.context()), by_match(problem, {})};
  });
}

}  // namespace nearfield::bench
