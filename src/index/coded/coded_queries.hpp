// The tables of queries: what each codeword adds to the key of a code that has it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <nearfield/isa.hpp>
#include <nearfield/metric.hpp>

#include "code/code_scan.hpp"
#include "core/aligned_array.hpp"
#include "core/monitor.hpp"
#include "filter/filter_maker.hpp"
#include "index/coded/coded_rows.hpp"

namespace nearfield {

// Throws invalid_argument if a query whose values are finite has one that is too large, which it
// would where its tables are made.
void check_coded_queries(MatrixView queries);

// The key of a code is a sum in float32, codebook by codebook and then its norm, and what the query
// adds in float64: the same bits on every ISA. Never below 0 under a distance.
class CodedQueries {
 public:
  // The largest sum of rounded entries that may be near: those above are not, with room to round.
  static constexpr std::uint8_t kMostNear = 253;

  // Looks at the codes.
  CodedQueries(const Piece& queries, const CodedRows& codes, MetricSpec metric, Isa isa,
               int threads, const Monitor& monitor);
  static std::int64_t bytes_per_query(const CodedParameters& parameters);
  // Of each thread, while tables are made.
  static std::int64_t bytes_per_thread(const CodedParameters& parameters, std::int64_t cols);

  // Others find nothing.
  bool finite(std::int64_t query) const { return of(query).finite; }

  // Of the row of a chunk.
  double key(std::int64_t query, const CodedRows::Chunk& chunk, std::int64_t row) const;

  // The same of several rows of a block of codes of 4 bits, the one that begins with the row: first
  // the sums of all.
  using BlockSums = std::array<float, kScanRows>;
  BlockSums sums(std::int64_t query, const CodedRows::Chunk& chunk, std::int64_t row,
                 const CodeScanKernels& kernels) const;
  double key(std::int64_t query, const CodedRows::Chunk& chunk, std::int64_t row,
             const BlockSums& sums) const {
    return key_of_sum(query, chunk, row, sums[static_cast<std::size_t>(row % kScanRows)]);
  }

  static std::int64_t rounded_bytes(const CodedParameters& parameters) {
    return parameters.pair_columns() * kPairEntries + parameters.byte_columns() * kByteEntries;
  }
  // Rounds its tables down to bytes, so that a code with a key of at most the threshold has a sum
  // of at most kMostNear. False if there can be no such code.
  bool round(std::int64_t query, double threshold, const CodeScanKernels& kernels,
             std::uint8_t* out) const;

 private:
  struct Asked {
    bool finite = false;
    double base = 0;   // what it adds to a key
    double least = 0;  // of any sum, without a norm
    double most = 0;   // of any entry and of any sum on the way, in size
  };

  const Asked& of(std::int64_t query) const {
    return asked_[static_cast<std::size_t>(query - first_)];
  }
  std::int64_t entries() const;
  const float* tables(std::int64_t query) const {
    return tables_.data() + (query - first_) * entries();
  }
  const float* least(std::int64_t query) const {
    return least_.data() + (query - first_) * parameters_.quantizer.codebooks;
  }
  const std::uint8_t* block_of(const CodedRows::Chunk& chunk, std::int64_t row) const {
    return chunk.blocks + row / kScanRows * parameters_.columns() * kScanRows;
  }
  // sum: of the entries of its codes.
  double key_of_sum(std::int64_t query, const CodedRows::Chunk& chunk, std::int64_t row,
                    float sum) const;
  void make(const Piece& queries, Range range, Isa isa, const Monitor& monitor);
  void take(std::int64_t query, std::span<const double> products, std::span<const double> values);

  const CodedRows& codes_;
  const CodedParameters& parameters_;
  bool distance_;  // else products
  std::int64_t first_;
  AlignedArray<float> tables_;  // [query][codebook][codeword]
  std::vector<float> least_;    // [query][codebook]: the smallest entry
  std::vector<Asked> asked_;
};

}  // namespace nearfield
