#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <nearfield/matrix.hpp>

#include "core/aligned_array.hpp"
#include "core/monitor.hpp"
#include "filter/rounded/rounder.hpp"
#include "filter/rounded/tile_kernel.hpp"
#include "filter/rounded/tile_rows.hpp"

namespace nearfield {

// What RoundedRows are made of, as it lies in memory or in a file.
struct RoundedTensors {
  std::span<const std::byte> values;   // as TileRows has them
  std::span<const std::int32_t> bias;  // of each row, of whole groups
  std::span<const GroupTerms> terms;   // of each group
  std::span<const std::uint32_t> odd;  // a bit for each row
};

// What is added to the product of a row with queries of that form.
std::int32_t bias_of(const BaseRounding& rounding, QueryForm form, const Rounded& row);

// Rows of a base in the layout of the tile kernels.
class RoundedRows {
 public:
  // For queries of that form. `first` is the number of the first row.
  RoundedRows(const BaseRounding& rounding, QueryForm form, MatrixView rows, std::int64_t first,
              int threads, Monitor& monitor,
              TileRows::Progress progress = TileRows::Progress::none);
  // Looks at tensors() of others, made for queries of the form `made_for` of so many rows with the
  // same rounding, which must outlive it. Those for bytes serve every form: for offset bytes, the
  // bias is made anew.
  RoundedRows(const BaseRounding& rounding, QueryForm form, std::int64_t rows,
              const RoundedTensors& tensors, QueryForm made_for = QueryForm::bytes);

  // What it takes, beside what its making takes.
  static std::int64_t bytes_per_row(std::int64_t cols);
  static std::int64_t fixed_bytes(std::int64_t cols, int threads);

  RoundedTensors tensors() const { return {tiles_.all(), bias_, terms_, odd_}; }

  std::int64_t depth() const { return tiles_.depth(); }
  std::int64_t count() const { return tiles_.count(); }
  bool begins_group(std::int64_t row) const { return tiles_.begins_group(row); }

  // Of a row that begins a group.
  const std::int8_t* values(std::int64_t row) const {
    return reinterpret_cast<const std::int8_t*>(tiles_.values(row));
  }
  const std::int32_t* bias(std::int64_t row) const { return bias_.data() + tiles_.offset(row); }
  const GroupTerms* terms(std::int64_t row) const {
    return terms_.data() + tiles_.offset(row) / kGroupRows;
  }
  // The largest of each.
  const GroupTerms& largest_terms() const { return largest_; }

  // At least the length of any row, in the units of the values.
  double longest() const { return longest_; }

  // 1 if the sum of the row's squares is odd.
  int odd(std::int64_t row) const {
    const std::int64_t i = tiles_.offset(row);
    return static_cast<int>(odd_[static_cast<std::size_t>(i / 32)] >> (i % 32)) & 1;
  }

 private:
  void round_group(const BaseRounding& rounding, QueryForm form, MatrixView rows,
                   std::int64_t group, Rounder& rounder, std::byte* out);
  void find_largest(const BaseRounding& rounding);
  void take_offset_off();

  TileRows tiles_;
  // Its own, unless it looks at those of others.
  AlignedArray<std::int32_t> own_bias_;
  std::vector<GroupTerms> own_terms_;
  std::vector<std::uint32_t> own_odd_;
  std::span<const std::int32_t> bias_;
  std::span<const GroupTerms> terms_;
  std::span<const std::uint32_t> odd_;
  GroupTerms largest_;
  double longest_ = 0;
};

}  // namespace nearfield
