// The third step: keeps what belongs to the answer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>

#include "filter/filter.hpp"

namespace nearfield {

class TwoSidedSink;
class NearestKeysSink;

// Calls about different queries may come from different threads at once; those about one query
// come one after the other.
class Sink {
 public:
  virtual ~Sink() = default;

  // Itself, if it is one.
  virtual TwoSidedSink* two_sided() { return nullptr; }

  // The key above which a row is of no use to each query.
  virtual void thresholds(Range queries, std::span<double> out) const = 0;

  // Moves to the front, in their order, the rows that may be of use though their keys are at least
  // this one, and returns how many. Others come first: the key is the threshold, and among rows
  // with that key ids decide.
  virtual std::int64_t keep_useful(std::int64_t /*query*/, double /*least_key*/,
                                   std::span<std::uint32_t> rows) const {
    return std::ssize(rows);
  }

  // keys: of the candidates, in their order. Ids are row numbers.
  virtual void consume(const Candidates& candidates, std::span<const double> keys) = 0;

  // An empty sink for the same queries, to be filled beside this one from other rows; and its
  // return, query by query.
  virtual std::unique_ptr<Sink> twin() const = 0;
  virtual void merge(Sink& twin, std::int64_t query) = 0;
};

// A sink for the rows, too.
class TwoSidedSink : public Sink {
 public:
  // Itself, if it is one.
  virtual NearestKeysSink* nearest_keys() { return nullptr; }

  // True if queries and rows are one set, each of which asks once; else rows ask beside the
  // queries.
  virtual bool one_set() const = 0;

  // As thresholds, of rows: the key above which a query is of no use to each.
  virtual void row_thresholds(Range rows, std::span<double> out) const = 0;

  // As consume, from the other side: each candidate's query is found by its row.
  virtual void consume_turned(const Candidates& candidates, std::span<const double> keys) = 0;
};

// A sink that wants no more than the nearest or the two nearest of each side, whoever finds them.
class NearestKeysSink {
 public:
  virtual ~NearestKeysSink() = default;

  virtual int kept() const = 0;  // 1 or 2

  // All at once: of the queries, and of the rows, from the first of each.
  virtual void take(const NearestKeys& of_queries, const NearestKeys& of_rows) = 0;
};

// What a row is called: its entry if there are any, else its number.
inline std::int64_t id_of(std::span<const std::int64_t> ids, std::int64_t row) {
  return ids.empty() ? row : ids[static_cast<std::size_t>(row)];
}

// Keys that are at most the bound; kNever, which is NaN, is not.
inline std::int64_t count_close(std::span<const double> keys, double bound) {
  return std::count_if(keys.begin(), keys.end(), [&](double key) { return key <= bound; });
}

// Calls use(query, key, row) for each candidate whose key is at most at_most(query), asked anew for
// every candidate.
template <class AtMost, class Use>
void for_each_close(const Candidates& candidates, std::span<const double> keys,
                    const AtMost& at_most, const Use& use) {
  const Range queries = candidates.block().queries;
  const double* key = keys.data();
  for (std::int64_t query = queries.begin; query < queries.end; ++query) {
    const std::int64_t count = candidates.count_of(query);
    for (std::int64_t i = 0; i < count; ++i) {
      if (!(key[i] <= at_most(query))) continue;  // so written, it drops kNever, which is NaN
      use(query, key[i], candidates.row(query, i));
    }
    key += count;
  }
}

}  // namespace nearfield
