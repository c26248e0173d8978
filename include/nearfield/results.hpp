// Results and their order.
//
// Every search sorts by one total order: (key, then smaller id). The key is a float64 that grows
// with distance and is never -0; its definition (metrics.def, ARCHITECTURE.md "The sum") does not
// depend on batch size, thread count, ISA, device or number of shards, and neither do the results:
// top-10 is the head of top-100, and every merge compares keys, never the rounded distances. A row
// with a NaN or an infinity is never returned, and a query with one returns nothing; a finite pair
// keeps its id even where its distance overflows float32 (or its key float64: it then sorts by
// +inf or -inf, and last if the definition yields NaN). Where fewer than k rows are found (k > n,
// an empty base, a filter), `counts` says how many, and the rest is id -1, key and distance +inf
// (distance -inf for a similarity). k = 0, zero queries and zero rows are valid.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <nearfield/stats.hpp>

namespace nearfield {

// (key, id) under the total order.
struct Neighbor {
  double key;
  std::int64_t id;

  friend bool operator<(const Neighbor& a, const Neighbor& b) {
    return a.key < b.key || (a.key == b.key && a.id < b.id);
  }
  friend bool operator==(const Neighbor&, const Neighbor&) = default;
};

inline constexpr std::int64_t kNoId = -1;

// The k nearest rows of each query: row-major, queries x k.
struct Neighbors {
  std::int64_t queries = 0;
  std::int64_t k = 0;
  std::vector<std::int64_t> ids;
  std::vector<double> keys;
  std::vector<float> distances;      // reported_value(metric, key), rounded to float32
  std::vector<std::int64_t> counts;  // how many of the k were found, a query
  bool exact = false;                // proven equal to the definition, not merely likely
  Stats stats;

  std::span<const std::int64_t> ids_of(std::int64_t query) const { return row(ids, query); }
  std::span<const double> keys_of(std::int64_t query) const { return row(keys, query); }
  std::span<const float> distances_of(std::int64_t query) const { return row(distances, query); }

 private:
  template <class T>
  std::span<const T> row(const std::vector<T>& all, std::int64_t query) const {
    return std::span(all).subspan(static_cast<std::size_t>(query * k), static_cast<std::size_t>(k));
  }
};

// All rows within a radius (inclusive) of each query, in CSR: the results of query i are
// [offsets[i], offsets[i + 1]), sorted by the total order.
struct Ranges {
  std::vector<std::int64_t> offsets;
  std::vector<std::int64_t> ids;
  std::vector<double> keys;
  std::vector<float> distances;
  bool exact = false;
  Stats stats;
};

// Pairs of rows, each once, sorted by (key, first id, second id).
struct Pairs {
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> second;
  std::vector<double> keys;
  std::vector<float> distances;
  bool exact = false;
  Stats stats;
};

}  // namespace nearfield
