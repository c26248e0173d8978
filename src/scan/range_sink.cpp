#include "scan/range_sink.hpp"

#include <algorithm>

#include "core/fail.hpp"

namespace nearfield {

RangeSink::RangeSink(Range queries, double bound, RangeBudget& budget)
    : queries_(queries),
      bound_(bound),
      budget_(budget),
      found_(static_cast<std::size_t>(queries.size())) {}

void RangeSink::thresholds(Range /*queries*/, std::span<double> out) const {
  std::fill(out.begin(), out.end(), bound_);
}

void RangeSink::consume(const Candidates& candidates, std::span<const double> keys) {
  const Block& block = candidates.block();
  const double* key = keys.data();
  std::int64_t added = 0;
  for (std::int64_t query = block.queries.begin; query < block.queries.end; ++query) {
    std::vector<Neighbor>& found = of(query);
    const std::span<const std::uint32_t> rows = candidates.rows_of(query);
    const std::int64_t count = candidates.count_of(query);
    for (std::int64_t i = 0; i < count; ++i) {
      if (!(key[i] <= bound_)) continue;  // false for kNever, which is NaN
      const std::int64_t row = candidates.dense() ? i : rows[static_cast<std::size_t>(i)];
      found.push_back({key[i], block.rows.begin + row});
      ++added;
    }
    key += count;
  }
  const std::int64_t total = budget_.found += added;
  if (budget_.most_found && total > *budget_.most_found) {
    fail(ErrorCode::memory_limit,
         "{} results are found and the memory limit has room for {}: raise it, or search fewer "
         "queries at a time or a smaller radius",
         total, *budget_.most_found);
  }
}

std::unique_ptr<Sink> RangeSink::twin() const {
  return std::make_unique<RangeSink>(queries_, bound_, budget_);
}

void RangeSink::merge(Sink& twin, std::int64_t query) {
  std::vector<Neighbor>& other = static_cast<RangeSink&>(twin).of(query);
  of(query).insert(of(query).end(), other.begin(), other.end());
  other = {};
}

std::span<const Neighbor> RangeSink::finish(std::int64_t query) {
  std::sort(of(query).begin(), of(query).end());
  return of(query);
}

}  // namespace nearfield
