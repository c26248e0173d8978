// The loop of scan_rising.hpp where devices list the rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "filter/level_lister.hpp"
#include "scan/rising_query.hpp"

namespace nearfield {

struct ListedScan {
  // Queries go to whoever is free. Two of a device keep it and the CPU busy: while rows of one are
  // verified, the other lists.
  std::span<LevelLister* const> listers;
  bool cpu = false;  // takes queries too
  // Rows that are listed at first where thresholds fall, if so many are near enough; four times as
  // many each time after.
  std::int64_t first_rows = 1;
};

struct ListedCounts {
  RisingCounts counts;
  std::vector<std::int64_t> pairs;  // that each lister looked at
};

// The answer of scan_rising. Where a lister has no keys, also what is verified is the same.
ListedCounts scan_listed(const ListedScan& scan, const RisingSteps& steps);

}  // namespace nearfield
