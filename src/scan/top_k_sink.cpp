#include "scan/top_k_sink.hpp"

namespace nearfield {

TopKSink::TopKSink(Range queries, std::int64_t k)
    : queries_(queries), k_(k), best_(static_cast<std::size_t>(queries.size()), TopK(k)) {}

std::int64_t TopKSink::bytes_per_query(std::int64_t k) {
  return static_cast<std::int64_t>(sizeof(TopK)) +
         TopK::capacity(k) * static_cast<std::int64_t>(sizeof(Neighbor));
}

void TopKSink::thresholds(Range queries, std::span<double> out) const {
  for (std::int64_t query = queries.begin; query < queries.end; ++query) {
    out[static_cast<std::size_t>(query - queries.begin)] = of(query).threshold();
  }
}

void TopKSink::consume(const Candidates& candidates, std::span<const double> keys) {
  const Block& block = candidates.block();
  const double* key = keys.data();
  for (std::int64_t query = block.queries.begin; query < block.queries.end; ++query) {
    TopK& best = of(query);
    const std::span<const std::uint32_t> rows = candidates.rows_of(query);
    const std::int64_t count = candidates.count_of(query);
    for (std::int64_t i = 0; i < count; ++i) {
      // False for kNever, which is NaN.
      if (!(key[i] <= best.threshold())) continue;
      const std::int64_t row = candidates.dense() ? i : rows[static_cast<std::size_t>(i)];
      best.offer({key[i], block.rows.begin + row});
    }
    key += count;
  }
}

std::unique_ptr<Sink> TopKSink::twin() const { return std::make_unique<TopKSink>(queries_, k_); }

void TopKSink::merge(Sink& twin, std::int64_t query) {
  auto& other = static_cast<TopKSink&>(twin);
  for (const Neighbor& neighbor : other.finish(query)) of(query).offer(neighbor);
}

}  // namespace nearfield
