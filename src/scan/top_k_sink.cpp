#include "scan/top_k_sink.hpp"

namespace nearfield {

TopKSink::TopKSink(Range queries, std::int64_t k, const TopKRules& rules)
    : queries_(queries), k_(k), rules_(rules) {
  if (rules.limits.empty()) {
    best_.assign(static_cast<std::size_t>(queries.size()), TopK<Neighbor>(k));
    return;
  }
  best_.reserve(static_cast<std::size_t>(queries.size()));
  for (std::int64_t query = queries.begin; query < queries.end; ++query) {
    best_.emplace_back(k, rules.limits[static_cast<std::size_t>(query)]);
  }
}

std::int64_t TopKSink::bytes_per_query(std::int64_t k) {
  constexpr std::int64_t kOfTheAllocator = 16;  // beside each buffer: it shows with many small ones
  return static_cast<std::int64_t>(sizeof(TopK<Neighbor>)) + kOfTheAllocator +
         TopK<Neighbor>::most_held(k) * static_cast<std::int64_t>(sizeof(Neighbor));
}

void TopKSink::thresholds(Range queries, std::span<double> out) const {
  for (std::int64_t query = queries.begin; query < queries.end; ++query) {
    out[static_cast<std::size_t>(query - queries.begin)] = of(query).threshold();
  }
}

std::int64_t TopKSink::keep_useful(std::int64_t query, double least_key,
                                   std::span<std::uint32_t> rows) const {
  const TopK<Neighbor>& best = of(query);
  std::size_t kept = 0;
  for (const std::uint32_t row : rows) {
    rows[kept] = row;
    kept += static_cast<std::size_t>(best.takes({least_key, id_of(rules_.ids, row)}));
  }
  return static_cast<std::int64_t>(kept);
}

void TopKSink::consume(const Candidates& candidates, std::span<const double> keys) {
  for_each_close(
      candidates, keys, [&](std::int64_t query) { return of(query).threshold(); },
      [&](std::int64_t query, double key, std::int64_t row) {
        const Neighbor neighbor{key, id_of(rules_.ids, row)};
        if (rules_.after.empty() || rules_.after[static_cast<std::size_t>(query)] < neighbor) {
          of(query).offer(neighbor);
        }
      });
  const Range queries = candidates.block().queries;
  for (std::int64_t query = queries.begin; query < queries.end; ++query) of(query).settle();
}

void TopKSink::consume_turned(const Candidates& candidates, std::span<const double> keys) {
  const Range queries = candidates.block().queries;
  const double* key = keys.data();
  std::int64_t done = 0;
  for (std::int64_t query = queries.begin; query < queries.end; ++query) {
    const std::int64_t count = candidates.count_of(query);
    for (std::int64_t i = 0; i < count; ++i) {
      prefetch_turned(candidates, done + i);
      of(candidates.row(query, i)).offer({key[i], query});  // kNever, which is NaN, is not taken
    }
    key += count;
    done += count;
  }
  const Range rows = candidates.block().rows;
  for (std::int64_t row = rows.begin; row < rows.end; ++row) of(row).settle();
}

// Rows are far apart, and each candidate has another: of 100,000 vectors, k = 10, the graph takes
// 1.20 instead of 1.32 s where memory is asked for ahead. First what says where a row's items are.
void TopKSink::prefetch_turned(const Candidates& candidates, std::int64_t number) const {
  constexpr std::int64_t kAhead = 16;
  constexpr std::int64_t kItemsAhead = 8;
  const std::span<const std::uint32_t> rows = candidates.rows_of_all();
  const TopK<Neighbor>* const first = &of(candidates.block().rows.begin);
  if (number + kAhead >= std::ssize(rows)) return;
  __builtin_prefetch(first + rows[static_cast<std::size_t>(number + kAhead)]);
  first[rows[static_cast<std::size_t>(number + kItemsAhead)]].prefetch();
}

std::unique_ptr<Sink> TopKSink::twin() const {
  return std::make_unique<TopKSink>(queries_, k_, rules_);
}

void TopKSink::merge(Sink& twin, std::int64_t query) {
  auto& other = static_cast<TopKSink&>(twin);
  for (const Neighbor& neighbor : other.finish(query)) of(query).offer(neighbor);
}

}  // namespace nearfield
