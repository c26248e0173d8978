// Where the rows of each query are: its keys in all tables, looked up.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <nearfield/matrix.hpp>
#include <nearfield/metric.hpp>

#include "core/aligned_array.hpp"
#include "core/monitor.hpp"
#include "index/lsh/lsh_probes.hpp"
#include "index/lsh/lsh_tables.hpp"

namespace nearfield {

// Keys of a query in a table: its own and those near it. One a thread.
class LshQueryHash {
 public:
  explicit LshQueryHash(const LshFunctions& functions)
      : functions_(functions), hash_(lsh_hash(functions.scheme)) {}

  // projections: of all tables. Fills `keys`.
  void keys(std::span<const double> projections, std::int64_t table, std::span<std::uint64_t> keys);

 private:
  const LshFunctions& functions_;
  const LshHash& hash_;
  LshProbes probes_;
  std::vector<ProbeStep> steps_;
};

class LshPlaces {
 public:
  // Hashes the queries, and then looks their keys up; `seconds` of each are kept.
  LshPlaces(MatrixView queries, const LshRun& run, std::int64_t probes, MetricSpec metric, Isa isa,
            int threads, const Monitor& monitor);

  // What they take, with what each thread has while they are made.
  static std::int64_t bytes_of_a_query(const LshRun& run, std::int64_t probes);
  static std::int64_t bytes_of_a_thread(const LshRun& run, std::int64_t probes);

  // A place for each of the probes.
  std::span<const KeyPlace> of(std::int64_t query, std::int64_t table) const {
    return {places_.data() + (table * queries_ + query) * probes_,
            static_cast<std::size_t>(probes_)};
  }

  double hashing_seconds() const { return hashing_seconds_; }
  double lookup_seconds() const { return lookup_seconds_; }

 private:
  void hash(MatrixView queries, const LshRun& run, MetricSpec metric, Isa isa, int threads,
            const Monitor& monitor);
  void look_up(const LshRun& run, int threads, const Monitor& monitor);

  std::int64_t queries_;
  std::int64_t probes_;
  AlignedArray<std::uint64_t> keys_;  // table by table, query by query; freed when looked up
  AlignedArray<KeyPlace> places_;     // likewise
  double hashing_seconds_ = 0;
  double lookup_seconds_ = 0;
};

}  // namespace nearfield
