#include "filter/rounded/tile_rows.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/checked.hpp"
#include "core/float_environment.hpp"
#include "core/tasks.hpp"

namespace nearfield {
namespace {

std::int64_t depth_of(std::int64_t row_bytes) { return divide_up(row_bytes, 4); }

}  // namespace

std::int64_t TileRows::bytes_per_row(std::int64_t row_bytes) { return depth_of(row_bytes) * 4; }

std::int64_t TileRows::fixed_bytes(std::int64_t row_bytes, int threads) {
  const std::int64_t last_group = kGroupRows * bytes_per_row(row_bytes);  // may be almost empty
  return last_group + kTileBytes + threads * kGroupRows * bytes_per_row(row_bytes);
}

std::int64_t TileRows::all_bytes(std::int64_t rows, std::int64_t row_bytes) {
  return round_up(rows, kGroupRows) * bytes_per_row(row_bytes) + kTileBytes;
}

TileRows::TileRows(Range range, std::int64_t row_bytes, std::span<const std::byte> all)
    : range_(range),
      depth_(depth_of(row_bytes)),
      groups_(divide_up(range.size(), kGroupRows)),
      all_(all) {}

TileRows::TileRows(Range range, std::int64_t row_bytes) : TileRows(range, row_bytes, {}) {
  const auto bytes = static_cast<std::size_t>(all_bytes(range.size(), row_bytes));
  own_ = AlignedArray<std::byte>(static_cast<std::int64_t>(bytes));
  all_ = {own_.data(), bytes};
  std::memset(own_.data() + bytes - kTileBytes, 0, kTileBytes);
}

void TileRows::fill(int threads, Monitor& monitor, Progress progress,
                    const std::function<MakeGroup()>& start_task) {
  const std::int64_t group_bytes = kGroupRows * depth_ * 4;
  const std::int64_t per_task = std::max<std::int64_t>(kBytesPerTask / group_bytes, 1);
  run_tasks(divide_up(groups_, per_task), threads, [&](std::int64_t task, int) {
    monitor.check();
    const DefaultFloats floats;
    std::vector<std::byte> rows(static_cast<std::size_t>(group_bytes));
    const MakeGroup make = start_task();
    const std::int64_t end = std::min((task + 1) * per_task, groups_);
    for (std::int64_t group = task * per_task; group < end; ++group) {
      make(group, rows.data());
      interleave(group, rows.data());
    }
    if (progress == Progress::rows) {
      monitor.advance(std::min(end * kGroupRows, count()) - task * per_task * kGroupRows);
    }
  });
}

// From rows one after the other to the layout of blocks.
void TileRows::interleave(std::int64_t group, const std::byte* rows) {
  std::byte* out = own_.data() + group * kGroupRows * depth_ * 4;
  for (std::int64_t block = 0; block < 2; ++block, rows += kBlockRows * depth_ * 4) {
    for (std::int64_t k = 0; k < depth_; ++k) {
      for (std::int64_t row = 0; row < kBlockRows; ++row, out += 4) {
        std::memcpy(out, rows + (row * depth_ + k) * 4, 4);
      }
    }
  }
}

}  // namespace nearfield
