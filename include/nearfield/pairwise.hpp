// All distances between two sets of vectors: a table, not a search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <nearfield/context.hpp>
#include <nearfield/device_array.hpp>
#include <nearfield/matrix.hpp>
#include <nearfield/metric.hpp>
#include <nearfield/stats.hpp>

namespace nearfield {

struct PairwiseOptions {
  MetricSpec metric = Metric::sqeuclidean;

  // The key by which searches order, instead of what they report of it: the smaller the closer, for
  // every metric.
  bool keys = false;
};

// Row-major, queries x rows.
struct Pairwise {
  std::int64_t queries = 0;
  std::int64_t rows = 0;
  std::vector<double> values;
  Stats stats;

  std::span<const double> values_of(std::int64_t query) const {
    return std::span(values).subspan(static_cast<std::size_t>(query * rows),
                                     static_cast<std::size_t>(rows));
  }
};

// Both as wide; types may differ as in a search. The same bits on every ISA and device. A vector
// that holds a NaN or an infinity has NaN distances; a pair of others whose sum overflows is
// infinitely far. Either may be in the memory of the device that the context names, and is not
// copied then, except, within the device, packed bits that are no whole words of 64.
Pairwise pairwise(const AnyRows& queries, const AnyRows& rows, const PairwiseOptions& options = {},
                  const Context& context = {});

}  // namespace nearfield
