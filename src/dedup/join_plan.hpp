// Which bits codes are sorted by so that near-duplicates meet, at what cost.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include <nearfield/matrix.hpp>

#include "core/monitor.hpp"
#include "hash/bit_partition.hpp"

namespace nearfield {

// Codes that differ in at most `radius` bits do so in few of the bits of one table at least: in at
// most radius / m of the first radius % m + 1 of m tables, or in one less of another.
struct JoinPlan {
  BitPartition partition;
  std::int64_t radius = 0;
  double seconds = 0;  // of a thread, estimated

  // In how many of its bits codes may differ that a table is to bring together.
  std::int64_t differing(std::int64_t table) const {
    const std::int64_t most = radius / partition.tables;
    return table <= radius % partition.tables ? most : most - 1;
  }
  // That are needed.
  std::int64_t tables() const { return radius < partition.tables ? radius + 1 : partition.tables; }
};

// By a sample of the codes. Few of them are one bucket; if the radius is all bits there is no
// table. The same codes, the same plan.
JoinPlan plan_join(MatrixView codes, std::int64_t radius, const Monitor& monitor);

// What planning takes, and then the differences of buckets of a plan.
std::int64_t bytes_to_plan_join(std::int64_t cols);
std::int64_t difference_bytes(const JoinPlan& plan);

// All numbers of so many bits of which at least one and at most so many are set.
std::vector<std::uint32_t> bucket_differences(int bits, std::int64_t most);

}  // namespace nearfield
