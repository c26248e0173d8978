// Small quantizers to look at, and what they are made of.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <nearfield/quantize.hpp>

namespace nearfield::test {

inline constexpr std::int64_t kCols = 20;

inline constexpr std::array kKinds = {QuantizerKind::pq, QuantizerKind::opq, QuantizerKind::rq,
                                      QuantizerKind::lsq};

inline MatrixView view(const std::vector<float>& rows, std::int64_t cols = kCols) {
  return {rows.data(), std::ssize(rows) / cols, cols};
}

inline QuantizerOptions small(QuantizerKind kind, int codebooks = 4, int bits = 4) {
  QuantizerOptions options;
  options.kind = kind;
  options.codebooks = codebooks;
  options.bits = bits;
  options.iterations = 4;
  if (kind == QuantizerKind::rq) options.beam = 4;
  if (kind != QuantizerKind::lsq) return options;
  options.rounds = 4;
  options.train_rounds = 2;
  options.relaxation = Relaxation::none;
  return options;
}

inline std::vector<std::byte> bytes_of(const Matrix& matrix) {
  std::vector<std::byte> bytes;
  for (std::int64_t row = 0; row < matrix.rows(); ++row) {
    bytes.insert(bytes.end(), matrix.row(row),
                 matrix.row(row) + row_bytes(matrix.dtype(), matrix.cols()));
  }
  return bytes;
}

inline std::vector<float> values_of(MatrixView rows) {
  std::vector<float> values(static_cast<std::size_t>(rows.rows() * rows.cols()));
  std::memcpy(values.data(), rows.row(0), values.size() * sizeof(float));
  return values;
}

}  // namespace nearfield::test
