// What stands behind the name of the family: "coded,kind=lsq,codebooks=8,norms=byte,rerank=100".
#pragma once

#include <cstdint>

#include <nearfield/index.hpp>
#include <nearfield/quantize.hpp>

namespace nearfield {

// How the squared length of what a code stands for is kept.
enum class CodedNorms {
  none,   // tables know it: codewords of pq and opq are at right angles, products need none
  exact,  // as float32, and in a byte that bounds it
  byte,   // as one of 256 levels
};

struct CodedParameters {
  QuantizerOptions quantizer;
  CodedNorms norms = CodedNorms::none;
  // Of the so many nearest by their codes the nearest are found by their vectors; 0: codes decide.
  std::int64_t rerank = 100;
  // Whether they are kept once there are codes.
  bool vectors = true;
  // A part of so many rows gets codes, and codebooks are trained on so many.
  std::int64_t train = 1 << 14;
  std::uint64_t seed = 0;

  // Columns of a block of codes (code_scan.hpp).
  int pair_columns() const { return quantizer.bits == 4 ? (quantizer.codebooks + 1) / 2 : 0; }
  int byte_columns() const {
    return (quantizer.bits == 8 ? quantizer.codebooks : 0) + (norms != CodedNorms::none ? 1 : 0);
  }
  int columns() const { return pair_columns() + byte_columns(); }
  int codewords() const { return 1 << quantizer.bits; }
  // Of a vector, all that a search by codes reads.
  std::int64_t bytes_per_row() const { return columns() + (norms == CodedNorms::exact ? 4 : 0); }
};

// Throws invalid_argument for what coded does not have, and for vectors and metrics it cannot code.
CodedParameters parse_coded(const IndexSpec& spec);

}  // namespace nearfield
