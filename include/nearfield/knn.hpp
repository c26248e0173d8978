// Exact k nearest neighbours of arrays and files.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <nearfield/context.hpp>
#include <nearfield/matrix.hpp>
#include <nearfield/metric.hpp>
#include <nearfield/results.hpp>
#include <nearfield/rows.hpp>

namespace nearfield {

// Which rows of the base may be returned. Looks at the caller's memory.
class RowFilter {
 public:
  enum class Kind { all, bitset, list };

  RowFilter() = default;

  // Row i may be returned if bit i%64 of word i/64 is set. Needs a word for every 64 rows.
  static RowFilter bitset(std::span<const std::uint64_t> words) {
    RowFilter filter(Kind::bitset);
    filter.words_ = words;
    return filter;
  }

  // Any order, repeats allowed, each id in [0, rows).
  static RowFilter list(std::span<const std::int64_t> ids) {
    RowFilter filter(Kind::list);
    filter.ids_ = ids;
    return filter;
  }

  Kind kind() const { return kind_; }
  std::span<const std::uint64_t> words() const { return words_; }
  std::span<const std::int64_t> ids() const { return ids_; }

 private:
  explicit RowFilter(Kind kind) : kind_(kind) {}

  Kind kind_ = Kind::all;
  std::span<const std::uint64_t> words_;
  std::span<const std::int64_t> ids_;
};

struct KnnOptions {
  std::int64_t k = 10;
  MetricSpec metric = Metric::sqeuclidean;
  RowFilter filter = {};

  // Query i is row i of the base and is not its own neighbour. Needs as many queries as rows.
  bool exclude_self = false;

  // If not empty, one for each row of the base, which is then returned, and compared where keys are
  // equal, under that instead of its number. Looks at the caller's memory.
  std::span<const std::int64_t> ids = {};

  // If not empty, one for each query: only what comes after it in the total order is returned, so
  // that a search goes on where another ended (last_of). Looks at the caller's memory.
  std::span<const Neighbor> after = {};

  // A NaN or an infinity in queries or base is an error that names its row, instead of a row that
  // is never returned. Costs one more pass over the base.
  bool check_finite = false;
};

// Queries and base may differ in type if one holds every value of the other.
Neighbors knn(const RowSource& queries, const RowSource& base, const KnnOptions& options = {},
              const Context& context = {});

inline Neighbors knn(MatrixView queries, MatrixView base, const KnnOptions& options = {},
                     const Context& context = {}) {
  return knn(MatrixRows(queries), MatrixRows(base), options, context);
}

// What knn would do with the same arguments, without doing it. Throws what knn would throw about
// shapes, types and memory.
Plan plan_knn(const RowSource& queries, const RowSource& base, const KnnOptions& options = {},
              const Context& context = {});

// The last that each query found, for KnnOptions::after. Where a query found fewer than it asked
// for, nothing comes after.
std::vector<Neighbor> last_of(const Neighbors& found);

}  // namespace nearfield
