// Parameters of an index that answers approximately: those that find enough, at the least cost.
#pragma once

#include <cstdint>
#include <string>

#include <nearfield/context.hpp>
#include <nearfield/index.hpp>
#include <nearfield/rows.hpp>

namespace nearfield {

struct TuneIndexOptions {
  // Of the k nearest of a query, this part is to be found, on average.
  double recall = 0.8;
  std::int64_t k = 1;
};

struct TunedIndex {
  std::string family;    // with its parameters, as IndexSpec has it
  double recall = 0;     // expected, by the sample
  double looked_at = 0;  // part of the rows that a query is compared with, likewise
};

// By a sample of the vectors that the index is to hold, and of queries; without queries, the
// vectors stand for them, none of which finds itself. What the family is given already stays. Takes
// an exact search of 1,000 queries and a few seconds. The same rows, the same parameters, whatever
// machine it runs on. Throws unsupported for a family that is exact, and where the recall is out of
// reach.
TunedIndex tune_index(const IndexSpec& spec, const RowSource& rows, const RowSource& queries,
                      const TuneIndexOptions& options = {}, const Context& context = {});

}  // namespace nearfield
