#include "tests/oracle/compare.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

namespace nearfield::oracle {
namespace {

std::string shape_difference(const Neighbors& got, const Answer& want) {
  if (got.queries != want.queries || got.k != want.k) {
    return fmt::format("shape: {} queries x {}, expected {} x {}", got.queries, got.k, want.queries,
                       want.k);
  }
  const std::size_t slots = want.ids.size();
  if (got.ids.size() != slots || got.keys.size() != slots || got.distances.size() != slots ||
      got.counts.size() != want.counts.size()) {
    return fmt::format("sizes: {} ids, {} keys, {} distances, {} counts, expected {} and {}",
                       got.ids.size(), got.keys.size(), got.distances.size(), got.counts.size(),
                       slots, want.counts.size());
  }
  return "";
}

// Hexadecimal beside decimal: two keys may print alike and differ in their last bit.
std::string slot_text(std::int64_t id, double key, float distance) {
  return fmt::format("id {} key {} ({:a}) distance {} ({:a})", id, key, key, distance, distance);
}

template <class Got, class Want>
bool same_values(const Got& got, const Want& want, std::size_t i) {
  return std::bit_cast<std::uint64_t>(got.keys[i]) == std::bit_cast<std::uint64_t>(want.keys[i]) &&
         std::bit_cast<std::uint32_t>(got.distances[i]) ==
             std::bit_cast<std::uint32_t>(want.distances[i]);
}

template <class Got, class Want>
bool same_slot(const Got& got, const Want& want, std::size_t i) {
  return got.ids[i] == want.ids[i] && same_values(got, want, i);
}

// Columns [begin, end) of each row.
template <class T>
std::vector<T> columns_of(const std::vector<T>& all, std::int64_t rows, std::int64_t width,
                          std::int64_t begin, std::int64_t end) {
  std::vector<T> part;
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto row = all.begin() + i * width;
    part.insert(part.end(), row + begin, row + end);
  }
  return part;
}

Answer columns_of(const Answer& answer, std::int64_t begin, std::int64_t end) {
  Answer part;
  part.queries = answer.queries;
  part.k = end - begin;
  part.ids = columns_of(answer.ids, answer.queries, answer.k, begin, end);
  part.keys = columns_of(answer.keys, answer.queries, answer.k, begin, end);
  part.distances = columns_of(answer.distances, answer.queries, answer.k, begin, end);
  for (const std::int64_t count : answer.counts) {
    part.counts.push_back(std::clamp<std::int64_t>(count - begin, 0, end - begin));
  }
  return part;
}

}  // namespace

std::string difference(const Neighbors& got, const Answer& want) {
  if (std::string shape = shape_difference(got, want); !shape.empty()) {
    return shape;
  }
  for (std::size_t i = 0; i < want.ids.size(); ++i) {
    if (!same_slot(got, want, i)) {
      const std::size_t k = static_cast<std::size_t>(want.k);
      return fmt::format("query {}, position {}: {}, expected {}", i / k, i % k,
                         slot_text(got.ids[i], got.keys[i], got.distances[i]),
                         slot_text(want.ids[i], want.keys[i], want.distances[i]));
    }
  }
  for (std::size_t i = 0; i < want.counts.size(); ++i) {
    if (got.counts[i] != want.counts[i]) {
      return fmt::format("query {}: count {}, expected {}", i, got.counts[i], want.counts[i]);
    }
  }
  return "";
}

std::string difference(const Ranges& got, const RangeAnswer& want) {
  if (got.offsets != want.offsets) {
    return fmt::format("offsets: {} queries with {} results, expected {} with {}, or other counts",
                       got.offsets.size(), got.ids.size(), want.offsets.size(), want.ids.size());
  }
  if (got.ids.size() != want.ids.size() || got.keys.size() != want.keys.size() ||
      got.distances.size() != want.distances.size()) {
    return fmt::format("sizes: {} ids, {} keys, {} distances, expected {}", got.ids.size(),
                       got.keys.size(), got.distances.size(), want.ids.size());
  }
  for (std::size_t i = 0; i < want.ids.size(); ++i) {
    if (!same_slot(got, want, i)) {
      return fmt::format("result {}: {}, expected {}", i,
                         slot_text(got.ids[i], got.keys[i], got.distances[i]),
                         slot_text(want.ids[i], want.keys[i], want.distances[i]));
    }
  }
  return "";
}

std::string difference(const Pairs& got, const PairAnswer& want) {
  if (got.first.size() != want.first.size() || got.second.size() != want.first.size() ||
      got.keys.size() != want.first.size() || got.distances.size() != want.first.size()) {
    return fmt::format("sizes: {} and {} ids, {} keys, {} distances, expected {}", got.first.size(),
                       got.second.size(), got.keys.size(), got.distances.size(), want.first.size());
  }
  for (std::size_t i = 0; i < want.first.size(); ++i) {
    if (got.first[i] != want.first[i] || got.second[i] != want.second[i] ||
        !same_values(got, want, i)) {
      return fmt::format("pair {}: {} with {}, expected {} with {}", i, got.first[i],
                         slot_text(got.second[i], got.keys[i], got.distances[i]), want.first[i],
                         slot_text(want.second[i], want.keys[i], want.distances[i]));
    }
  }
  return "";
}

Answer answer_of(const Neighbors& neighbors) {
  return {neighbors.queries, neighbors.k,         neighbors.ids,
          neighbors.keys,    neighbors.distances, neighbors.counts};
}

Answer head_of(const Answer& answer, std::int64_t k) { return columns_of(answer, 0, k); }

Answer tail_of(const Answer& answer, std::int64_t k) { return columns_of(answer, k, answer.k); }

}  // namespace nearfield::oracle
