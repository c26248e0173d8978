// Bytes in the layout of the tile kernels, and nowhere else: it holds all that the rows hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/aligned_array.hpp"
#include "filter/rounded/rounded_rows.hpp"

namespace nearfield {

class PackedBytes {
 public:
  // Rows that are put one by one, up to so many, which take memory as they come; of a rounding
  // without loss, for queries of that form.
  PackedBytes(const BaseRounding& rounding, QueryForm form, std::int64_t capacity);
  // Looks at tensors of others, for QueryForm::bytes, which must outlive it.
  PackedBytes(const BaseRounding& rounding, std::int64_t rows, const RoundedTensors& tensors);

  static std::int64_t bytes_for(std::int64_t cols, std::int64_t capacity);

  DType dtype() const { return rounding_.base; }
  std::int64_t cols() const { return rounding_.cols; }
  std::int64_t capacity() const { return capacity_; }

  // Of those that own theirs. Others may read every other row meanwhile.
  void put(std::int64_t row, const std::byte* values);
  // Copies rows that were put, close to each other.
  void take(std::int64_t first, std::int64_t count, std::byte* out) const;

  // Of so many of its first rows, how many can be searched by tiles while rows behind them are put:
  // whole words of a bitset, and behind them what a kernel reads on. All, where none will be put.
  std::int64_t searchable(std::int64_t rows) const;
  // Of so many of its first rows, which are searchable, for queries of its form.
  RoundedRows first(std::int64_t rows, const BaseRounding& rounding) const;
  // Whether queries of that form can meet them.
  bool serves(QueryForm form) const;

 private:
  std::int64_t offset_of(std::int64_t row) const;
  void take_block(std::int64_t first, std::byte* out) const;

  BaseRounding rounding_;
  QueryForm form_;
  std::int64_t capacity_;
  std::int64_t depth_;
  bool own_;
  AlignedArray<std::byte> own_values_;
  AlignedArray<std::int32_t> own_bias_;
  std::vector<GroupTerms> own_terms_;  // all zero: nothing is lost
  std::vector<std::uint32_t> own_odd_;
  RoundedTensors tensors_;
};

}  // namespace nearfield
