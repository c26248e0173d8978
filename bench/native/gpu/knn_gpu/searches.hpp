// Searches for the k nearest that are compared with the CPU's, in one kernel or two.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <nearfield/knn.hpp>

#include "bench/native/gpu/distance_tables.hpp"
#include "bench/native/gpu/measuring.hpp"
#include "bench/native/gpu/selection_runs.hpp"

namespace nearfield::bench {

// What is searched, and the CPU's answer, for every k up to the most: the first k are the first of
// those.
struct Search {
  Search(std::int64_t queries, std::int64_t rows, std::int64_t cols, std::int64_t most_k);

  Matrix queries;
  Matrix rows;
  Neighbors expected;
};

// k of searches in one kernel.
inline constexpr std::int64_t kMostFusedK = 64;

// `knn`, on the device or on the CPU. method: keys, fused or halves; empty for what the search
// chooses.
Contender by_knn(const Search& search, std::int64_t k, const Context& context,
                 const std::string& method = {});

// `pairwise` and `select_k` on the device, the table going through the host in pieces.
Contender by_two_calls(const Search& search, std::int64_t k, const Measuring& measuring);

// Distances by products of halves on the device, in tables of as many queries as fit.
class HalfTables {
 public:
  HalfTables(const Measuring& measuring, const Search& search);

  // Then a selection of each table, all by kernels alone.
  Contender select(std::int64_t k, const DeviceSelector& selector) const;

 private:
  class Run;

  const Search& search_;
  gpu::Device& device_;
  gpu::Queue& queue_;
  std::int64_t most_queries_;
  ProductTable table_;
  std::vector<ConvertedVectors> queries_;
};

}  // namespace nearfield::bench
