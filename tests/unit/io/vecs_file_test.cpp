#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nearfield/files.hpp>

#include "file_matrices.hpp"
#include "temp_folder.hpp"
#include "tests/unit/expect_error.hpp"

namespace nearfield {
namespace {

using test::expect_error;
using test::expect_rows_equal;
using test::fill;
using test::TempFolder;

std::string count_bytes(std::int32_t count) {
  std::string bytes(sizeof count, '\0');
  std::memcpy(bytes.data(), &count, sizeof count);
  return bytes;
}

// `rows` records of `count` values; the payload takes `value_bytes` each.
std::string vecs_bytes(std::size_t rows, std::int32_t count, std::size_t value_bytes) {
  std::string bytes;
  for (std::size_t i = 0; i < rows; ++i) {
    bytes += count_bytes(count);
    bytes.append(static_cast<std::size_t>(count) * value_bytes, static_cast<char>(i + 1));
  }
  return bytes;
}

struct VecsTypeCase {
  DType dtype;
  std::string ending;
  std::int64_t cols;
  std::int64_t bits = 0;  // FileOptions::bits to read it back with
};

class VecsFileTypes : public testing::TestWithParam<VecsTypeCase> {};

// 9,000 rows: several pieces, and at their ends rows whose memory has no room for the count.
TEST_P(VecsFileTypes, RoundTripsDenseAndPadded) {
  const TempFolder folder;
  const auto& [dtype, ending, cols, bits] = GetParam();
  const std::string path = folder.path("a" + ending);
  for (const auto layout : {Matrix::Layout::dense, Matrix::Layout::aligned_rows}) {
    Matrix matrix(dtype, 9'000, cols, layout);
    fill(matrix);
    write_matrix(path, matrix);
    EXPECT_EQ(std::filesystem::file_size(path),
              static_cast<std::uintmax_t>(9'000 * (4 + row_bytes(dtype, cols))));
    expect_rows_equal(read_matrix(path, {bits}), matrix);
    const auto rows = open_rows(path, {bits});
    EXPECT_FALSE(rows->in_memory());
    Matrix buffer(dtype, 7'000, cols, layout);
    for (const auto& [first, count] : {std::pair{0, 7'000}, {2'000, 7'000}, {8'999, 1}, {9, 0}}) {
      rows->read(first, count, buffer, 7'000 - count);
      expect_rows_equal(buffer.view().slice(7'000 - count, count),
                        matrix.view().slice(first, count));
    }
  }
}

TEST_P(VecsFileTypes, EmptyHasNoColumns) {
  const TempFolder folder;
  const auto& [dtype, ending, cols, bits] = GetParam();
  write_matrix(folder.path("a" + ending), Matrix(dtype, 0, cols));
  EXPECT_EQ(folder.get("a" + ending), "");
  const Matrix matrix = read_matrix(folder.path("a" + ending));
  EXPECT_EQ(matrix.rows(), 0);
  EXPECT_EQ(matrix.cols(), 0);
}

INSTANTIATE_TEST_SUITE_P(All, VecsFileTypes,
                         testing::Values(VecsTypeCase{DType::f32, ".fvecs", 13},
                                         VecsTypeCase{DType::f32, ".fvecs", 16},
                                         VecsTypeCase{DType::u8, ".bvecs", 128},
                                         VecsTypeCase{DType::u8, ".bvecs", 1},
                                         VecsTypeCase{DType::bits, ".bvecs", 100, 100}),
                         [](const auto& param_info) {
                           return std::string(to_string(param_info.param.dtype)) + "x" +
                                  std::to_string(param_info.param.cols);
                         });

TEST(VecsFile, BytesAreThoseOfTheFormat) {
  const TempFolder folder;
  const std::vector<std::uint8_t> values{1, 2, 3, 4, 5, 6};
  write_matrix(folder.path("a.bvecs"), MatrixView(values.data(), 2, 3));
  EXPECT_EQ(folder.get("a.bvecs"), std::string("\3\0\0\0\1\2\3\3\0\0\0\4\5\6", 14));
  write_ids(folder.path("a.ivecs"), std::vector<std::int64_t>{7, -1}, 2, 1);
  EXPECT_EQ(folder.get("a.ivecs"), std::string("\1\0\0\0\7\0\0\0\1\0\0\0\xFF\xFF\xFF\xFF", 16));
}

TEST(VecsFile, PaddingStaysZero) {
  const TempFolder folder;
  const std::string path = folder.put("a.bvecs", vecs_bytes(300, 50, 1));
  Matrix buffer(DType::u8, 300, 50, Matrix::Layout::aligned_rows);
  open_rows(path)->read(0, 300, buffer, 0);
  for (std::int64_t i = 0; i < 300; ++i) {
    for (std::int64_t j = 50; j < buffer.stride_bytes(); ++j) {
      ASSERT_EQ(buffer.row(i)[j], std::byte{0}) << "row " << i << ", byte " << j;
    }
  }
}

TEST(VecsFile, FilesOfOneWidthCanBeJoined) {
  const TempFolder folder;
  const std::string joined = vecs_bytes(3, 5, 4) + vecs_bytes(4, 5, 4);
  EXPECT_EQ(open_rows(folder.put("a.fvecs", joined))->rows(), 7);
}

TEST(VecsFile, CutAtEachByte) {
  const TempFolder folder;
  const std::string whole = vecs_bytes(2, 3, 4);
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const std::string path = folder.put("a.fvecs", whole.substr(0, size));
    if (size == 16) {
      EXPECT_EQ(open_rows(path)->rows(), 1);
    } else if (size < 4) {
      expect_error([&] { open_rows(path); }, ErrorCode::corrupt_file,
                   {path, std::to_string(size) + " bytes", "the 4 of the first row"});
    } else {
      expect_error(
          [&] { read_matrix(path); }, ErrorCode::corrupt_file,
          {path, "3 values of 4 bytes", "takes 16 bytes", "the file has " + std::to_string(size),
           std::to_string(size / 16) + " rows and " + std::to_string(size % 16)});
    }
  }
}

TEST(VecsFile, FirstCountLies) {
  const TempFolder folder;
  for (const std::int32_t count : {0, -1, INT32_MIN}) {
    const std::string path = folder.put("a.fvecs", count_bytes(count) + "1234");
    expect_error([&] { open_rows(path); }, ErrorCode::corrupt_file,
                 {path, "row 0", std::to_string(count) + " values", "1 to 2147483647"});
  }
  // Nothing may be allocated for them.
  for (const std::string name : {"b.fvecs", "b.bvecs"}) {
    const std::string path = folder.put(name, count_bytes(INT32_MAX) + "1234");
    expect_error([&] { read_matrix(path); }, ErrorCode::corrupt_file,
                 {path, "2147483647 values", "the file has 8", "0 rows and 8 bytes"});
  }
  const std::string ids = folder.put("b.ivecs", count_bytes(INT32_MAX) + "1234");
  expect_error([&] { read_ids(ids); }, ErrorCode::corrupt_file, {ids, "8589934592 bytes"});
}

TEST(VecsFile, AnotherRowsCountLies) {
  const TempFolder folder;
  for (const std::int32_t count : {2, 4, 0, -3, INT32_MAX}) {
    std::string bytes = vecs_bytes(100, 3, 4);
    bytes.replace(57 * 16, 4, count_bytes(count));
    const std::string path = folder.put("a.fvecs", bytes);
    const auto rows = open_rows(path);
    for (const auto layout : {Matrix::Layout::dense, Matrix::Layout::aligned_rows}) {
      Matrix buffer(DType::f32, 100, 3, layout);
      EXPECT_NO_THROW(rows->read(0, 57, buffer, 0));
      EXPECT_NO_THROW(rows->read(58, 42, buffer, 0));
      for (const auto& [first, size] : {std::pair{0, 100}, {57, 1}, {50, 8}}) {
        expect_error([&] { rows->read(first, size, buffer, 0); }, ErrorCode::corrupt_file,
                     {path, "row 57", std::to_string(count) + " values", "the 3 of row 0"});
      }
    }
    const std::string ids = folder.put("a.ivecs", bytes);
    expect_error([&] { read_ids(ids); }, ErrorCode::corrupt_file,
                 {ids, "row 57", std::to_string(count) + " values", "the 3 of row 0"});
  }
}

TEST(VecsFile, TooManyColumnsAreAnErrorWithTheLimit) {
  const TempFolder folder;
  const std::string path = folder.put("a.bvecs", vecs_bytes(1, 65'537, 1));
  expect_error([&] { open_rows(path); }, ErrorCode::unsupported, {path, "65537", "65536"});
}

TEST(VecsFile, IdsAreNotVectorsNorVectorsIds) {
  const TempFolder folder;
  const std::string ids = folder.put("a.ivecs", vecs_bytes(2, 3, 4));
  expect_error([&] { open_rows(ids); }, ErrorCode::invalid_argument, {ids, "int32 ids (2 x 3)"});
  const std::string vectors = folder.put("a.fvecs", vecs_bytes(2, 3, 4));
  expect_error([&] { read_ids(vectors); }, ErrorCode::invalid_argument,
               {vectors, "f32 vectors, not ids", ".ivecs"});
  expect_error([&] { open_rows(vectors, {.bits = 8}); }, ErrorCode::invalid_argument,
               {vectors, "bits = 8", "f32", ".bvecs"});
}

TEST(VecsFile, PagesAreRecognised) {
  const TempFolder folder;
  const std::string path = folder.put("a.fvecs", "<!DOCTYPE html><html></html>");
  expect_error([&] { open_rows(path); }, ErrorCode::corrupt_file, {path, "HTML", "28 bytes"});
}

TEST(VecsFile, IdsRoundTrip) {
  const TempFolder folder;
  const std::string path = folder.path("a.ivecs");
  std::vector<std::int64_t> ids(600'000);  // more than one piece, which end within rows
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ids[i] = static_cast<std::int64_t>(i) - 1;
  }
  write_ids(path, ids, 60'000, 10);
  EXPECT_EQ(std::filesystem::file_size(path), 60'000U * 44);
  EXPECT_EQ(read_ids(path).ids, ids);
  write_ids(path, {}, 0, 10);
  EXPECT_TRUE(read_ids(path).ids.empty());
}

TEST(VecsFile, WhatDoesNotFitIsNotWritten) {
  const TempFolder folder;
  const std::vector<std::int64_t> large{0, std::int64_t{1} << 31};
  expect_error([&] { write_ids(folder.path("a.ivecs"), large, 1, 2); }, ErrorCode::invalid_argument,
               {"2147483648", "row 0, column 1", "2147483647"});
  expect_error([&] { write_ids(folder.path("a.ivecs"), {}, 0, std::int64_t{1} << 31); },
               ErrorCode::invalid_argument, {"2147483648 columns", "2147483647"});
  expect_error([&] { write_matrix(folder.path("a.fvecs"), Matrix(DType::f32, 5, 0)); },
               ErrorCode::invalid_argument, {"5 rows of 0 columns"});
  expect_error([&] { write_matrix(folder.path("a.fvecs"), Matrix(DType::u8, 5, 2)); },
               ErrorCode::invalid_argument, {"u8", ".u8bin or .bvecs or .npy"});
  EXPECT_EQ(folder.file_count(), 0);
}

}  // namespace
}  // namespace nearfield
