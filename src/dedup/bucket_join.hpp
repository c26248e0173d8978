// Near-duplicates of one table: bucket against bucket, each pair of them once.
#pragma once

#include <cstdint>

#include <nearfield/isa.hpp>

#include "core/monitor.hpp"
#include "dedup/bucket_order.hpp"
#include "dedup/disjoint_sets.hpp"

namespace nearfield {

struct JoinCounts {
  std::int64_t compared = 0;
  std::int64_t near = 0;
};

struct TableJoin {
  std::int64_t radius;
  int bits;                // of the table
  std::int64_t differing;  // bits of buckets that are compared with each other
  Isa isa;
  int threads;
};

// Joins codes that differ in at most radius bits, of all buckets that differ in so few, unless they
// are joined already. Sorts crowded buckets. Advances by the rows.
JoinCounts join_buckets(BucketOrder& order, const TableJoin& join, DisjointSets& sets,
                        Monitor& monitor);

// What a thread takes.
std::int64_t bytes_to_join_buckets(std::int64_t cols);

}  // namespace nearfield
