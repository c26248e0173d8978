// The devices of a search in an index of objects.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <nearfield/context.hpp>
#include <nearfield/stats.hpp>

#include "index/pivot/gpu/pivot_lister.hpp"
#include "scan/scan_listed.hpp"

namespace nearfield {

// What looks at an index on one device.
struct OpenedListers {
  std::string id;  // of the device
  ListerShape shape;
  bool keyed = false;
  std::vector<std::unique_ptr<PivotLister>> listers;
};

// On the device of this name, of those of the context. Throws unsupported for one that is not here,
// and memory_limit. A device without float64 leaves distances to the CPU.
OpenedListers open_listers(ListerTask task, const Context& context, std::string_view name);

class MetricDevices {
 public:
  // Those that the context names. Throws unsupported for what they cannot look at.
  MetricDevices(const ListerTask& task, const Context& context);

  // Whether the CPU takes queries, too.
  bool cpu() const { return cpu_; }

  // Of the host, for what is listed.
  std::int64_t host_bytes() const;

  // For the queries of these bounds.
  ListedCounts scan(const ObjectBounds& bounds, std::int64_t first_rows, const RisingSteps& steps);

  // Where it ran, and who did how much of it.
  void add_to(Plan& plan) const;

 private:
  struct Member {
    OpenedListers opened;
    std::int64_t pairs = 0;
  };

  std::vector<Member> members_;
  bool cpu_ = false;
  std::int64_t all_pairs_ = 0;
};

}  // namespace nearfield
