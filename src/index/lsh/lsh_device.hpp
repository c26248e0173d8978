// The filter of lsh on a device.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <nearfield/context.hpp>
#include <nearfield/metric.hpp>

#include "filter/filter_maker.hpp"
#include "index/lsh/lsh_tables.hpp"
#include "search/plan.hpp"

namespace nearfield {

// Rows and tables of a run are copied to the device by its first search there, and stay, if there
// is room. Queries are projected there, the host hashes the projections, and the device lists the
// rows of their buckets and makes their keys: all as on the CPU, to the bit. Of other runs the rows
// come piece by piece with each batch of queries, and so do the lists of their buckets, of which
// only those the queries need; of sorted keys the lists come likewise. The context names the
// device.
//
// With tiles 128 queries share a list of the rows that any of them has met, which are gathered and
// multiplied with all of them. A query gets what it has met itself and is near enough.

// How a query is answered.
struct LshLook {
  std::int64_t probes;
  bool tiles = false;
};

// Those of some runs that stay, one after the other as long as there is room for a search beside
// them, and what they leave of the limit, or of the device. What the device holds of the others, of
// a search that had more room, is let go.
struct LshStay {
  std::vector<const LshRun*> runs = {};
  std::int64_t left = 0;
};
LshStay lsh_stay(std::span<const LshRun* const> runs, const LshLook& look, std::int64_t row_bytes,
                 const Context& context);

// A search of a run. The context's limit is what is left for it.
class LshDevice {
 public:
  // Throws unsupported where the device lacks float64.
  LshDevice(const LshRun& run, const LshLook& look, bool stays, const Context& context);

  // How it is to be cut. Throws memory_limit where there is no room for a query.
  void add_to(SearchShape& shape) const;
  // Looks at the run.
  std::unique_ptr<FilterMaker> make(MetricSpec metric, DType queries) const;

 private:
  const LshRun& run_;
  LshLook look_;
  bool stays_;
  const Context& context_;
};

}  // namespace nearfield
