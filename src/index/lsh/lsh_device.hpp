// The filter of lsh on a device.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <nearfield/context.hpp>
#include <nearfield/metric.hpp>

#include "filter/filter_maker.hpp"
#include "index/lsh/lsh_tables.hpp"
#include "search/plan.hpp"

namespace nearfield {

// Rows and tables of a run are copied to the device by its first search there, and stay. Queries
// are projected there, the host hashes the projections, and the device lists the rows of their
// buckets and makes their keys: all as on the CPU, to the bit. The context names the device.

// What these runs leave of the limit, or of the device. Throws memory_limit.
std::int64_t room_beside_lsh(std::span<const LshRun* const> runs, std::int64_t row_bytes,
                             const Context& context);

// A search of a run. The context's limit is what is left for it.
class LshDevice {
 public:
  // Throws unsupported for sorted tables and where the device lacks float64.
  LshDevice(const LshRun& run, std::int64_t probes, const Context& context);

  // How it is to be cut. Throws memory_limit where there is no room for a query.
  void add_to(SearchShape& shape) const;
  // Looks at the run.
  std::unique_ptr<FilterMaker> make(MetricSpec metric, DType queries) const;

 private:
  const LshRun& run_;
  std::int64_t probes_;
  const Context& context_;
};

}  // namespace nearfield
