// Matrices to write to files, and to compare with what is read back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include <gtest/gtest.h>
#include <nearfield/matrix.hpp>

namespace nearfield::test {

inline void expect_rows_equal(MatrixView a, MatrixView b) {
  ASSERT_EQ(a.dtype(), b.dtype());
  ASSERT_EQ(a.rows(), b.rows());
  ASSERT_EQ(a.cols(), b.cols());
  const auto bytes = static_cast<std::size_t>(row_bytes(a.dtype(), a.cols()));
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    EXPECT_EQ(std::memcmp(a.row(i), b.row(i), bytes), 0) << "row " << i;
  }
}

inline std::string payload_bytes(std::size_t count) {
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) {
    bytes.push_back(static_cast<char>(i * 7 + 1));
  }
  return bytes;
}

inline void fill(Matrix& matrix) {
  const std::int64_t bytes = row_bytes(matrix.dtype(), matrix.cols());
  for (std::int64_t i = 0; i < matrix.rows(); ++i) {
    for (std::int64_t j = 0; j < bytes; ++j) {
      matrix.row(i)[j] = static_cast<std::byte>(i * 31 + j * 7 + 1);
    }
  }
}

}  // namespace nearfield::test
