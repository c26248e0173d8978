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

class MetricDevices {
 public:
  // Those that the context names. Throws unsupported for one that is not here and for what it
  // cannot look at, and memory_limit.
  MetricDevices(const MetricState& state, std::int64_t queries, const Context& context);

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
    std::string id;
    ListerShape shape;
    std::vector<std::unique_ptr<PivotLister>> listers;
    std::int64_t pairs = 0;
  };

  void open(const MetricState& state, std::int64_t queries, const Context& context,
            std::string_view name);

  std::vector<Member> members_;
  bool cpu_ = false;
  std::int64_t all_pairs_ = 0;
};

}  // namespace nearfield
