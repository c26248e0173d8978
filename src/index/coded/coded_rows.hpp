// Rows as codes: with what they are coded, and how they lie in memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <nearfield/context.hpp>
#include <nearfield/matrix.hpp>
#include <nearfield/quantize.hpp>

#include "code/code_scan.hpp"
#include "core/aligned_array.hpp"
#include "core/monitor.hpp"
#include "filter/filter.hpp"
#include "index/coded/coded_parameters.hpp"
#include "index/family_data.hpp"
#include "index/part.hpp"

namespace nearfield {

// What is learned of rows, once for an index.
struct CodedTrained {
  Quantizer quantizer;
  // Of norms that are kept, 256 that rise: where the bucket of each byte begins, or, of
  // CodedNorms::byte, what it stands for. As norm_levels.hpp makes them; of files they may be any.
  std::vector<float> norm_levels;
  std::vector<double> word_norms;  // squared, of each codeword

  CodedTrained(Quantizer trained, std::vector<float> levels);
  std::int64_t bytes() const;
};

using SharedCodedTrained = std::shared_ptr<const CodedTrained>;

// Throws invalid_argument if a row whose values are finite has one that is too large for a code.
void check_coded_values(MatrixView rows, const Monitor& monitor);

// On as many rows as the parameters say, evenly taken of the live rows of parts, which have
// vectors, and those behind them; null if too few of these are finite.
SharedCodedTrained train_coded(std::span<const PartView> parts, MatrixView behind,
                               const CodedParameters& parameters, const Context& context);

// Of what codes stand for, squared.
std::vector<float> norms_of_codes(const Quantizer& quantizer, MatrixView codes,
                                  const Context& context);

// What none of them is above: that of the longest codewords, if all pointed one way.
double longest_norm(const Quantizer& quantizer);

// Codes of some rows, in blocks as code_scan.hpp reads them, and their norms if these are exact.
class CodeBlocks {
 public:
  CodeBlocks(const CodedParameters& parameters, std::int64_t capacity);
  static std::int64_t bytes_for(const CodedParameters& parameters, std::int64_t capacity);

  // Codes rows to places from `at` on. Codes of rows with a NaN or an infinity mean nothing.
  void encode(MatrixView rows, std::int64_t at, const CodedTrained& trained,
              const Context& context);
  // Puts codes as a quantizer makes them, with their norms if any are kept.
  void put(MatrixView codes, std::span<const float> norms, const std::vector<float>& levels,
           std::int64_t at);
  // The same of `count` rows that lie in other blocks.
  void copy(const std::uint8_t* blocks, const float* norms, std::int64_t first, std::int64_t count,
            std::int64_t at);

  const std::uint8_t* blocks() const { return blocks_.data(); }
  const float* norms() const { return norms_.data(); }
  std::int64_t block_bytes() const { return capacity_ * columns_; }
  // Of norms that are exact, the smallest.
  float least_norm() const { return least_norm_; }

 private:
  void put_norm(std::int64_t row, float norm);
  std::uint8_t& code(std::int64_t row, std::int64_t column) {
    return blocks_[(row / kScanRows * columns_ + column) * kScanRows + row % kScanRows];
  }

  std::int64_t columns_;
  CodedNorms kept_norms_;
  std::int64_t capacity_;
  AlignedArray<std::uint8_t> blocks_;
  AlignedArray<float> norms_;
  float least_norm_ = std::numeric_limits<float>::infinity();
};

// The first rows of a part.
class CodedRows final : public FamilyData {
 public:
  // As long as each can be copied for every row that comes.
  static constexpr std::int64_t kChunkRows = 1 << 14;

  struct Chunk {
    std::shared_ptr<const CodeBlocks> own;  // null if it lies in a file
    const std::uint8_t* blocks;
    const float* norms;
    float least_norm;
  };

  // All chunks but the last have `chunk_rows`.
  CodedRows(SharedCodedTrained trained, const CodedParameters& parameters, std::int64_t rows,
            std::int64_t chunk_rows, std::vector<Chunk> chunks);

  std::int64_t bytes() const override;
  std::int64_t rows() const { return rows_; }
  const CodedParameters& parameters() const { return parameters_; }
  const CodedTrained& trained() const { return *trained_; }
  const SharedCodedTrained& shared_trained() const { return trained_; }

  // What a norm of each byte is at least.
  std::span<const float> norm_floors() const { return norm_floors_; }

  // Calls use(chunk, its first row, range in it) for what of the rows is in each.
  template <class Use>
  void for_each_chunk(std::int64_t begin, std::int64_t end, const Use& use) const {
    for (std::int64_t row = begin; row < end;) {
      const std::int64_t chunk = row / chunk_rows_;
      const std::int64_t first = chunk * chunk_rows_;
      const std::int64_t stop = std::min(end, first + chunk_rows_);
      use(chunks_[static_cast<std::size_t>(chunk)], first, Range{row - first, stop - first});
      row = stop;
    }
  }

  // These, of which there may be none, and the rows behind them.
  static std::shared_ptr<const CodedRows> grown(const std::shared_ptr<const CodedRows>& before,
                                                MatrixView behind,
                                                const SharedCodedTrained& trained,
                                                const CodedParameters& parameters,
                                                const Context& context);
  // Of the live rows of parts: codes that are there move.
  static std::shared_ptr<const CodedRows> gathered(std::span<const PartView> parts,
                                                   const SharedCodedTrained& trained,
                                                   const CodedParameters& parameters,
                                                   const Context& context);
  // What that takes.
  static std::int64_t bytes_to_grow(std::int64_t rows_before, std::int64_t rows,
                                    const CodedParameters& parameters);

 private:
  SharedCodedTrained trained_;
  CodedParameters parameters_;
  std::int64_t rows_;
  std::int64_t chunk_rows_;
  std::vector<Chunk> chunks_;
  std::vector<float> norm_floors_;
};

// Of a run of rows, where those end that have codes.
inline std::int64_t end_of_coded(const PartView& view, Range run) {
  const auto* const codes = static_cast<const CodedRows*>(view.family.get());
  return codes != nullptr ? std::clamp(codes->rows(), run.begin, run.end) : run.begin;
}

// Live rows without codes.
inline std::int64_t uncoded_rows(std::span<const PartView> parts) {
  std::int64_t rows = 0;
  for_each_run(parts, [&](const PartView& view, std::int64_t begin, std::int64_t end) {
    rows += end - end_of_coded(view, {begin, end});
  });
  return rows;
}

// Of the live rows of parts, in their order, calls copy(chunk, range in it, at) for those that have
// codes and encode(rows, at) for those that have none, kChunkRows at most; the first goes to place
// 0.
template <class Copy, class Encode>
void for_each_code(std::span<const PartView> parts, const Copy& copy, const Encode& encode) {
  std::int64_t at = 0;
  for_each_run(parts, [&](const PartView& view, std::int64_t begin, std::int64_t end) {
    const auto* const codes = static_cast<const CodedRows*>(view.family.get());
    const std::int64_t coded = end_of_coded(view, {begin, end});
    if (codes != nullptr) {
      codes->for_each_chunk(
          begin, coded, [&](const CodedRows::Chunk& chunk, std::int64_t first, Range range) {
            const std::int64_t place = at + first - begin;
            for (std::int64_t row = range.begin; row < range.end; row += CodedRows::kChunkRows) {
              const std::int64_t stop = std::min(row + CodedRows::kChunkRows, range.end);
              copy(chunk, Range{row, stop}, place + row);
            }
          });
    }
    for (std::int64_t row = coded; row < end; row += CodedRows::kChunkRows) {
      const std::int64_t count = std::min(CodedRows::kChunkRows, end - row);
      encode(view.rows().slice(row, count), at + row - begin);
    }
    at += end - begin;
  });
}

}  // namespace nearfield
