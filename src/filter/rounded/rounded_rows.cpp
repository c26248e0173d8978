#include "filter/rounded/rounded_rows.hpp"

#include <algorithm>
#include <cstring>

#include "core/checked.hpp"
#include "core/float_environment.hpp"
#include "core/tasks.hpp"

namespace nearfield {
namespace {

// Rounded between two looks at the cancel token: some milliseconds.
constexpr std::int64_t kValuesPerTask = 1 << 19;

std::int64_t depth_of(std::int64_t cols) { return divide_up(cols, 4); }

// From rows of `depth` words, one after the other, to the block's layout.
void interleave(const std::int8_t* rows, std::int64_t depth, std::int8_t* block) {
  for (std::int64_t k = 0; k < depth; ++k) {
    for (std::int64_t row = 0; row < kBlockRows; ++row) {
      std::memcpy(block + (k * kBlockRows + row) * 4, rows + (row * depth + k) * 4, 4);
    }
  }
}

std::int32_t bias_of(const Rounding& rounding, const TileKernel& kernel, const Rounded& row) {
  if (row.kind == Rounded::Kind::never) return 1 - kLargestProduct;
  if (row.kind == Rounded::Kind::always) return kLargestProduct;
  std::int32_t bias =
      rounding.form == Form::distance ? -(row.squares >> 1) : rounding.offset() * row.sum;
  if (kernel.form == QueryForm::offset_bytes) bias -= 128 * row.sum;
  return bias;
}

}  // namespace

std::int64_t RoundedRows::bytes_per_row(std::int64_t cols) {
  constexpr auto kOfAGroup = static_cast<std::int64_t>(sizeof(GroupTerms) + sizeof(std::uint32_t));
  return depth_of(cols) * 4 + static_cast<std::int64_t>(sizeof(std::int32_t)) +
         divide_up(kOfAGroup, kGroupRows);
}

std::int64_t RoundedRows::fixed_bytes(std::int64_t cols, int threads) {
  const std::int64_t last_group = kGroupRows * bytes_per_row(cols);  // which may be almost empty
  const std::int64_t scratch = kGroupRows * depth_of(cols) * 4 + Rounder::bytes(cols);
  return last_group + kTileBytes + threads * scratch;
}

RoundedRows::RoundedRows(const Rounding& rounding, const TileKernel& kernel, MatrixView rows,
                         std::int64_t first, int threads, Monitor& monitor, Progress progress)
    : range_{first, first + rows.rows()}, depth_(depth_of(rounding.cols)) {
  const std::int64_t groups = divide_up(rows.rows(), kGroupRows);
  values_ = AlignedArray<std::int8_t>(groups * kGroupRows * depth_ * 4 + kTileBytes);
  bias_ = AlignedArray<std::int32_t>(groups * kGroupRows);
  terms_.resize(static_cast<std::size_t>(groups));
  odd_.resize(static_cast<std::size_t>(groups));
  std::memset(values_.data() + groups * kGroupRows * depth_ * 4, 0, kTileBytes);
  const std::int64_t per_task =
      std::max<std::int64_t>(kValuesPerTask / (kGroupRows * depth_ * 4), 1);
  run_tasks(divide_up(groups, per_task), threads, [&](std::int64_t task, int) {
    monitor.check();
    const DefaultFloats floats;
    std::vector<std::int8_t> scratch(static_cast<std::size_t>(kGroupRows * depth_ * 4));
    Rounder rounder(rounding);
    const std::int64_t end = std::min((task + 1) * per_task, groups);
    for (std::int64_t group = task * per_task; group < end; ++group) {
      pack_group(rounding, kernel, rows, group, rounder, scratch.data());
    }
    if (progress == Progress::rows) {
      monitor.advance(std::min(end * kGroupRows, rows.rows()) - task * per_task * kGroupRows);
    }
  });
  // Group by group, so that it does not depend on threads.
  for (const GroupTerms& terms : terms_) {
    largest_.loss = std::max(largest_.loss, terms.loss);
    largest_.other = std::max(largest_.other, terms.other);
  }
  longest_ = static_cast<double>(largest_.other) * rounding.step + rounding.centre_length;
}

void RoundedRows::pack_group(const Rounding& rounding, const TileKernel& kernel, MatrixView rows,
                             std::int64_t group, Rounder& rounder, std::int8_t* scratch) {
  std::uint32_t odd = 0;
  GroupTerms terms;
  for (std::int64_t i = 0; i < kGroupRows; ++i) {
    const std::int64_t row = group * kGroupRows + i;
    std::int8_t* values = scratch + i * depth_ * 4;
    Rounded rounded;
    if (row < rows.rows()) {
      rounded = rounder.row(rows.row(row), values);
    } else {
      std::memset(values, 0, static_cast<std::size_t>(depth_ * 4));
    }
    bias_[row] = bias_of(rounding, kernel, rounded);
    odd |= static_cast<std::uint32_t>(rounded.squares & 1) << i;
    terms.loss = std::max(terms.loss, rounded.loss);
    const bool distance = rounding.form == Form::distance;
    terms.other = std::max(terms.other, distance ? rounded.half_square : rounded.length);
  }
  terms_[static_cast<std::size_t>(group)] = terms;
  odd_[static_cast<std::size_t>(group)] = odd;
  for (std::int64_t block = 0; block < 2; ++block) {
    interleave(scratch + block * kBlockRows * depth_ * 4, depth_,
               values_.data() + (group * 2 + block) * kBlockRows * depth_ * 4);
  }
}

}  // namespace nearfield
