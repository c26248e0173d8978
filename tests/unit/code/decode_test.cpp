// What codes stand for: encoded again, and its distance from what was encoded.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include <nearfield/quantize.hpp>

#include "core/random.hpp"
#include "tests/unit/code/code_reference.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kDecodedCols = 20;

MatrixView view_of(const std::vector<float>& rows) {
  return {rows.data(), std::ssize(rows) / kDecodedCols, kDecodedCols};
}

Quantizer quickly_trained(const std::vector<float>& rows, QuantizerKind kind, int codebooks) {
  QuantizerOptions options;
  options.kind = kind;
  options.codebooks = codebooks;
  options.bits = 4;
  options.iterations = 4;
  if (kind == QuantizerKind::lsq) options.rounds = 4;
  return Quantizer::train(view_of(rows), options);
}

// Any codes, also those that no row has. Codewords may be equal, and then codes are others.
TEST(Decode, WhatCodesStandForIsEncodedToStandForTheSame) {
  const auto rows = test::rows_to_code(400, kDecodedCols);
  for (const auto& [kind, m] : {std::pair(QuantizerKind::pq, 4), std::pair(QuantizerKind::opq, 4),
                                std::pair(QuantizerKind::lsq, 1)}) {
    const Quantizer quantizer = quickly_trained(rows, kind, m);
    Matrix codes(DType::u8, 300, quantizer.code_bytes());
    Random random(5);
    for (std::int64_t row = 0; row < codes.rows(); ++row) {
      for (std::int64_t i = 0; i < codes.cols(); ++i) {
        codes.row(row)[i] = static_cast<std::byte>(random.below(m == 1 ? 16 : 256));
      }
    }
    const Matrix decoded = quantizer.decode(codes);
    // A rotation and back is rounded.
    const double most = kind == QuantizerKind::opq ? 1e-6 : 0;
    for (const double error : quantizer.squared_errors(decoded, quantizer.encode(decoded))) {
      ASSERT_LE(error, most) << to_string(kind);
    }
  }
}

TEST(Decode, ErrorsAreDistancesFromWhatIsDecoded) {
  const auto rows = test::rows_to_code(400, kDecodedCols);
  for (const auto kind :
       {QuantizerKind::pq, QuantizerKind::opq, QuantizerKind::rq, QuantizerKind::lsq}) {
    const Quantizer quantizer = quickly_trained(rows, kind, 4);
    const Matrix codes = quantizer.encode(view_of(rows));
    const Matrix decoded = quantizer.decode(codes);
    const auto errors = quantizer.squared_errors(view_of(rows), codes);
    for (std::int64_t row = 0; row < codes.rows(); ++row) {
      const auto* const about = reinterpret_cast<const float*>(decoded.row(row));
      double sum = 0;
      for (std::int64_t i = 0; i < kDecodedCols; ++i) {
        const double apart =
            double{rows[static_cast<std::size_t>(row * kDecodedCols + i)]} - about[i];
        sum += apart * apart;
      }
      ASSERT_NEAR(errors[static_cast<std::size_t>(row)], sum, 1e-4 * sum) << to_string(kind);
    }
  }
}

}  // namespace
}  // namespace nearfield
