// Figure 5.1: distances, by kernels alone, over the number of queries and of columns.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nearfield/pairwise.hpp>

#include "bench/native/gpu/distance_tables.hpp"
#include "bench/native/gpu/knn_gpu/figures.hpp"
#include "bench/native/gpu/uniform.hpp"

namespace nearfield::bench {
namespace {

// n q d is `work`, but for the most that n may be: tiles of products are padded to 128 queries, so
// that with one query they take as long as with 128.
struct Grid {
  std::int64_t work;
  std::int64_t most_rows;
  std::vector<std::int64_t> queries;
  std::vector<std::int64_t> cols;
};

Grid grid_of(Size size) {
  switch (size) {
    case Size::tiny:
      return {1 << 14, 1 << 8, {1, 16}, {16}};
    case Size::quick:
      return {1 << 25, 1 << 16, {1, 8, 128, 1024}, {8, 32, 128, 256}};
    default:
      return {std::int64_t{1} << 36,
              std::int64_t{1} << 26,
              {1, 8, 32, 128, 1024, 8192},
              {4, 8, 16, 32, 64, 128, 256, 512}};
  }
}

// Vectors of a point, and the CPU's distances, to be compared with.
struct Question {
  Matrix queries;
  Matrix rows;
  Matrix query_bytes;
  Matrix row_bytes;
  Pairwise of_floats;
  Pairwise of_bytes;

  explicit Question(const Point& point)
      : queries(uniform_vectors(point.queries, point.cols, kQuerySeed)),
        rows(uniform_vectors(point.rows, point.cols, kRowSeed)),
        query_bytes(bytes_of(queries)),
        row_bytes(bytes_of(rows)),
        of_floats(pairwise(queries, rows)),
        of_bytes(pairwise(query_bytes, row_bytes)) {}
};
using SharedQuestion = std::shared_ptr<const Question>;

Contender on_cpu(const SharedQuestion& question) {
  const auto found = std::make_shared<Pairwise>();
  return {"cpu, float64", Timed::call,
          [=] { *found = pairwise(question->queries, question->rows); },
          [=] {
            if (found->values != question->of_floats.values)
              fail_check("cpu, float64", "two answers differ");
          }};
}

Contender by_keys(const SharedQuestion& question, const Measuring& measuring) {
  const auto table = std::make_shared<KeyTable>(measuring.device(), measuring.queue(),
                                                question->queries, question->rows);
  return {"keys, float64", Timed::kernels, [=] { table->run(); },
          [=] {
            if (table->read() != question->of_floats.values) {
              fail_check("keys, float64", "keys differ from the CPU's");
            }
          }};
}

// A table with the queries that fill it.
struct Filled {
  Filled(const Measuring& measuring, MatrixView queries, MatrixView rows, ProductKind kind)
      : queue(measuring.queue()),
        table(measuring.device(), queue, rows, kind, queries.rows()),
        converted(table.convert(queries)) {}

  void run() {
    table.fill(converted);
    queue.wait();
  }

  gpu::Queue& queue;
  ProductTable table;
  ConvertedVectors converted;
};

Contender by_halves(const SharedQuestion& question, const Measuring& measuring, ProductKind kind,
                    const std::string& series) {
  const auto filled = std::make_shared<Filled>(measuring, question->queries, question->rows, kind);
  return {series, Timed::kernels, [=] { filled->run(); },
          [=] {
            const HalfBound bound(question->queries, question->rows, kind);
            const std::vector<double>& keys = question->of_floats.values;
            const auto found =
                read_values<float>(filled->queue, filled->table.found(), std::ssize(keys));
            const auto [key, wrong] =
                std::mismatch(keys.begin(), keys.end(), found.begin(),
                              [&](double x, float y) { return bound.holds(x, y); });
            if (key != keys.end()) {
              fail_check(series, fmt::format("a distance is {}, the CPU's is {}: more than its "
                                             "bound allows",
                                             *wrong, *key));
            }
          }};
}

Contender by_bytes(const SharedQuestion& question, const Measuring& measuring) {
  const auto filled = std::make_shared<Filled>(measuring, question->query_bytes,
                                               question->row_bytes, ProductKind::i8);
  return {"products, int8", Timed::kernels, [=] { filled->run(); },
          [=] {
            const std::vector<double>& keys = question->of_bytes.values;
            const auto found =
                read_values<std::int32_t>(filled->queue, filled->table.found(), std::ssize(keys));
            if (!std::equal(keys.begin(), keys.end(), found.begin(), found.end())) {
              fail_check("products, int8", "distances differ from the CPU's");
            }
          }};
}

}  // namespace

void measure_distances(Measuring& measuring) {
  const Grid grid = grid_of(measuring.size());
  measuring.note(fmt::format("n q d is {}, n at most {}", grid.work, grid.most_rows));
  for (const std::int64_t queries : grid.queries) {
    for (const std::int64_t cols : grid.cols) {
      const std::int64_t wanted = std::min(grid.work / (queries * cols), grid.most_rows);
      // Of a row: its keys, or itself. The host has both some times.
      const std::int64_t wide = std::max(8 * queries, 4 * cols);
      const Point point{.queries = queries,
                        .rows = measuring.fitting("rows", wanted, wide, 8 * wide),
                        .cols = cols};
      if (!measuring.has_time(point)) return;
      measuring.measure(point, [&]() -> Contenders {
        const auto question = std::make_shared<const Question>(point);
        return {by_keys(question, measuring),
                by_halves(question, measuring, ProductKind::f16, "products, f16"),
                by_halves(question, measuring, ProductKind::f16_acc16, "products, f16 sums"),
                by_bytes(question, measuring), on_cpu(question)};
      });
    }
  }
}

}  // namespace nearfield::bench
