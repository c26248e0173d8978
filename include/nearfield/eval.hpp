// How good found neighbours are: recall against the true ones, ties counted as what they are.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <nearfield/context.hpp>
#include <nearfield/files.hpp>
#include <nearfield/matrix.hpp>
#include <nearfield/metric.hpp>
#include <nearfield/rows.hpp>

namespace nearfield {

// A mean over queries, and the 95 % interval around it that queries of the same kind would give.
// docs/evaluation.md says which interval and why.
struct Estimate {
  double mean = 0;
  double low = 0;
  double high = 0;

  // Queries whose value may be higher: they found a row of which the truth cannot say how near it
  // is. If not 0, all of the above are lower bounds.
  std::int64_t open = 0;
};

struct RecallAt {
  std::int64_t k = 0;

  // Of each query: how many of the first k found are true, over min(k, how many there are to find).
  Estimate recall;

  // 1-recall@k: of each query 1 if the nearest row, or one as near, is among the first k found.
  Estimate nearest;

  // Queries that found a row nearer than the true k-th that is not among the true k: the truth is
  // of another base or metric, or was not exact. Known where distances are computed; such a row
  // counts as true.
  std::int64_t wrong_truth_queries = 0;
};

struct Recall {
  std::int64_t queries = 0;        // with something to find; the means are over these
  std::int64_t empty_queries = 0;  // whose truth holds no id: left out
  std::vector<RecallAt> at;        // in the order that was asked for
};

// The true neighbours, nearest first; -1 where there are no more.
struct TrueNeighbors {
  const IdTable& ids;

  // Their distances or similarities, f32 or f64, if known: rows as near as the k-th that stand
  // after it count as true too.
  std::optional<MatrixView> distances = {};
};

// For each k of `at`, from 1 to the columns of both `found` and the truth. In a row of `found`, -1
// is left out and an id counts once. A row as near as the true k-th counts as true, as far as the
// truth can say; Estimate::open says how far that is.
Recall recall(const IdTable& found, const TrueNeighbors& truth,
              const std::vector<std::int64_t>& at);

// The same, with the rows themselves: distances are computed, exactly, and settle every tie. Reads
// single rows of the base. An id that is no row of it is an error. Of the context, the number of
// threads, which is 1, and the memory limit play no part.
Recall recall(const IdTable& found, const IdTable& truth, const std::vector<std::int64_t>& at,
              const RowSource& queries, const RowSource& base, MetricSpec metric,
              const Context& context = {});

}  // namespace nearfield
