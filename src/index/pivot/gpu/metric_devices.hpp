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
struct DeviceListers {
  std::string id;  // of the device
  gpu::Device& device;
  ListerTask task;          // without distances where there is no float64
  std::int64_t limit;       // bytes of the device
  std::int64_t chunk_rows;  // LevelStep's
  ListerShape shape;
  std::vector<std::unique_ptr<PivotLister>> listers = {};
};

// On the device of this name, of those of the context, with nothing copied or allocated there yet.
// Throws unsupported for one that is not here, and memory_limit.
DeviceListers plan_listers(ListerTask task, const Context& context, std::string_view name);

// Copies the index, or lets go what an earlier search with more room has left there. Throws
// memory_limit where the device has less than it says, and nothing fits.
void open_listers(DeviceListers& on, const Context& context);

// Throws for a device of the context's that is not here.
void open_named_devices(const Context& context);

class MetricDevices {
 public:
  // Those that the context names. Throws unsupported for what they cannot look at. Nothing is
  // copied there before open.
  MetricDevices(const ListerTask& task, const Context& context);

  // Whether the CPU takes queries, too.
  bool cpu() const { return cpu_; }

  // Of the host, for what is listed.
  std::int64_t host_bytes() const;
  // Lists of fewer rows. False where they are as short as they can be.
  bool halve_lists();

  void open();

  // For the queries of these bounds.
  ListedCounts scan(const ObjectBounds& bounds, std::int64_t first_rows, const RisingSteps& steps);

  // Where it ran, and who did how much of it.
  void add_to(Plan& plan) const;

 private:
  struct Member {
    DeviceListers on;
    std::int64_t pairs = 0;
  };

  const Context& context_;
  std::vector<Member> members_;
  bool keyed_ = false;  // distances are computed where there is float64
  bool cpu_ = false;
  std::int64_t all_pairs_ = 0;
};

}  // namespace nearfield
