// The filter of lsh on a device that has none of its tables.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <nearfield/context.hpp>
#include <nearfield/metric.hpp>

#include "device/gpu/gpu.hpp"
#include "filter/filter_maker.hpp"
#include "index/lsh/lsh_device.hpp"
#include "index/lsh/lsh_tables.hpp"
#include "search/plan.hpp"

namespace nearfield {

// Queries are hashed and looked up on the host, as for a search there. Of a block of queries it
// sends the lists of their buckets, and the device lists each row once, and makes the keys. The
// rows stay on the device, or come piece by piece with each batch of queries.
struct LshLists {
  const LshRun& run;
  LshLook look;
  bool stays;  // the rows
  const Context& context;
};

// What a device must have beside the rows of a run that stay there, so that they are marked all at
// once; nothing where there are too many for that, which then come piece by piece.
std::optional<std::int64_t> bytes_to_mark(const LshRun& run, bool tiles);

// How it is to be cut. Throws memory_limit where there is no room for the least that is sent.
void add_lsh_lists_to(SearchShape& shape, const LshLists& lists);
// device: that of the context.
std::unique_ptr<FilterMaker> make_lsh_lists(gpu::Device& device, const LshLists& lists,
                                            MetricSpec metric, DType queries);

}  // namespace nearfield
