#include "scan/range_sink.hpp"

#include <algorithm>

namespace nearfield {

RangeSink::RangeSink(Range queries, double bound, FoundBudget& budget,
                     std::span<const std::int64_t> ids)
    : queries_(queries),
      bound_(bound),
      budget_(budget),
      ids_(ids),
      found_(static_cast<std::size_t>(queries.size())) {}

void RangeSink::thresholds(Range /*queries*/, std::span<double> out) const {
  std::fill(out.begin(), out.end(), bound_);
}

void RangeSink::consume(const Candidates& candidates, std::span<const double> keys) {
  budget_.spend(count_close(keys, bound_));
  for_each_close(
      candidates, keys, [&](std::int64_t) { return bound_; },
      [&](std::int64_t query, double key, std::int64_t row) {
        of(query).push_back({key, id_of(ids_, row)});
      });
}

std::unique_ptr<Sink> RangeSink::twin() const {
  return std::make_unique<RangeSink>(queries_, bound_, budget_, ids_);
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
