// Distances of all objects to some of them, the pivots.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <nearfield/metric_index.hpp>
#include <nearfield/object_metric.hpp>

#include "core/monitor.hpp"
#include "index/pivot/bound_kernel.hpp"
#include "index/pivot/row_blocks.hpp"
#include "object/object_list.hpp"

namespace nearfield {

// From distances to buckets. The last bucket has no end: what is farther than all distances that
// were seen when pivots were chosen.
struct PivotScale {
  double unit = 1;     // of a bucket
  int most = 255;      // the last bucket
  bool whole = false;  // buckets are distances: nothing is rounded
  double slack = 0;    // of the metric

  std::uint8_t bucket(double distance) const;
  // Fills in entry `pivot` for a query at this distance from it.
  void reach(double distance, std::int64_t pivot, PivotReach& out) const;
  // Of an object in this bucket of a pivot whose entry of `most` is this; infinite in the last one.
  double most_distance(double most_of_pivot, std::uint8_t bucket) const;
  // Of rows of this level.
  double least_distance(int level) const;
  // Rows of a higher level are farther.
  int highest_level(double distance) const;
};

// The scale for distances up to this one.
PivotScale pivot_scale(const ObjectMetric& metric, double largest, int bits, bool signatures);

class PivotTable {
 public:
  // kept: of an object; as many as there are pivots for all.
  PivotTable(const ObjectMetric& metric, ObjectList pivots, std::int64_t kept, PivotScale scale);
  // As it lies in a file.
  PivotTable(const ObjectMetric& metric, ObjectList pivots, std::int64_t kept, PivotScale scale,
             std::span<const std::uint8_t> blocks, std::int64_t rows);

  const ObjectList& pivots() const { return pivots_; }
  const PivotScale& scale() const { return scale_; }
  std::int64_t kept() const { return kept_; }
  bool all_kept() const { return kept_ == pivots_.size(); }
  const RowBlocks& blocks() const { return blocks_; }
  static std::int64_t block_bytes(std::int64_t pool, std::int64_t kept);

  // Takes the objects from the number of its rows on. On threads, where the metric allows it.
  void append(const ObjectList& objects, Isa isa, int threads, Monitor& monitor);
  void truncate(std::int64_t rows) { blocks_.truncate(rows); }

  // Of a query, whose distances to all pivots are computed.
  PivotReach reach_of(ObjectView query, Isa isa, const Monitor& monitor) const;

  void raise_levels(const PivotReach& reach, std::int64_t slots, Range rows,
                    const BoundKernels& kernels, std::uint8_t* levels) const;

  // The distance is at most that, by the pivots of these slots.
  double most_distance(const PivotReach& reach, std::int64_t slots, std::int64_t row) const;

  // The same rows without some of them: those that stay, rising.
  PivotTable picked(std::span<const std::int64_t> rows) const;

 private:
  void take_block(const ObjectList& objects, Range rows, Isa isa, const Monitor& monitor);
  void put_row(std::int64_t row, std::span<const double> distances);

  const ObjectMetric* metric_;
  ObjectList pivots_;
  std::int64_t kept_;
  PivotScale scale_;
  RowBlocks blocks_;
};

// Rows of others copied behind each other; of a block, each row's i-th byte is at i * 64.
RowBlocks picked_columns(const RowBlocks& from, std::span<const std::int64_t> rows);

}  // namespace nearfield
