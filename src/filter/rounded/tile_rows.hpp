#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "core/aligned_array.hpp"
#include "core/monitor.hpp"
#include "filter/filter.hpp"
#include "filter/rounded/tile_kernel.hpp"

namespace nearfield {

// Rows of a base in the layout of the tile kernels, whatever their values are.
class TileRows {
 public:
  // What the monitor is told of: rows that are made, or nothing, since it counts pairs.
  enum class Progress { none, rows };

  // `row_bytes`: of the values of a row.
  TileRows(Range range, std::int64_t row_bytes);
  // Looks at all() of others like it, which must outlive it.
  TileRows(Range range, std::int64_t row_bytes, std::span<const std::byte> all);

  static std::int64_t bytes_per_row(std::int64_t row_bytes);
  // Of all().
  static std::int64_t all_bytes(std::int64_t rows, std::int64_t row_bytes);
  // Beside its rows, and while it is filled.
  static std::int64_t fixed_bytes(std::int64_t row_bytes, int threads);

  // Makes the rows of a group, one after the other, with bytes_per_row each; they hold zeros, or
  // what the group before has left.
  using MakeGroup = std::function<void(std::int64_t group, std::byte* rows)>;

  // Each task has a MakeGroup of its own.
  void fill(int threads, Monitor& monitor, Progress progress,
            const std::function<MakeGroup()>& start_task);

  std::int64_t depth() const { return depth_; }
  std::int64_t groups() const { return groups_; }
  std::int64_t count() const { return range_.size(); }

  // Where a row is.
  std::int64_t offset(std::int64_t row) const { return row - range_.begin; }
  bool begins_group(std::int64_t row) const { return offset(row) % kGroupRows == 0; }

  // Of a row that begins a group.
  const std::byte* values(std::int64_t row) const { return all_.data() + offset(row) * depth_ * 4; }
  // Values of all rows, and zeros behind them, where a kernel reads on.
  std::span<const std::byte> all() const { return all_; }

 private:
  void interleave(std::int64_t group, const std::byte* rows);

  Range range_;
  std::int64_t depth_;
  std::int64_t groups_;
  AlignedArray<std::byte> own_;
  std::span<const std::byte> all_;
};

}  // namespace nearfield
