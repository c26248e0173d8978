#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <nearfield/files.hpp>

#include "file_matrices.hpp"
#include "temp_folder.hpp"
#include "tests/unit/expect_error.hpp"

namespace nearfield {
namespace {

using test::expect_error;
using test::TempFolder;

TEST(RowWriter, PiecesAreTheFileOfTheWhole) {
  const TempFolder folder;
  for (const Matrix::Layout layout : {Matrix::Layout::dense, Matrix::Layout::aligned_rows}) {
    Matrix matrix(DType::f32, 7, 3, layout);
    test::fill(matrix);
    for (const std::string ending : {".fbin", ".fvecs", ".npy"}) {
      write_matrix(folder.path("whole" + ending), matrix);
      const auto writer = create_rows(folder.path("pieces" + ending), DType::f32, 7, 3);
      for (const auto& [first, count] : {std::pair{0, 2}, {2, 0}, {2, 1}, {3, 4}}) {
        writer->append(matrix.view().slice(first, count));
      }
      writer->commit();
      EXPECT_EQ(folder.get("pieces" + ending), folder.get("whole" + ending));
    }
  }
}

TEST(RowWriter, WithoutCommitTheTargetStays) {
  const TempFolder folder;
  const std::string path = folder.put("a.u8bin", "old");
  {
    const auto writer = create_rows(path, DType::u8, 2, 2);
    writer->append(Matrix(DType::u8, 2, 2));
  }
  EXPECT_EQ(folder.get("a.u8bin"), "old");
  EXPECT_EQ(folder.file_count(), 1);
}

TEST(RowWriter, RowsAreThoseAnnounced) {
  const TempFolder folder;
  const std::string path = folder.path("a.fbin");
  const auto writer = create_rows(path, DType::f32, 3, 2);
  writer->append(Matrix(DType::f32, 2, 2));
  expect_error([&] { writer->commit(); }, ErrorCode::invalid_argument,
               {path, "3 rows were announced, got 2"});
  expect_error([&] { writer->append(Matrix(DType::f32, 2, 2)); }, ErrorCode::invalid_argument,
               {path, "2 rows of 2 f32 cannot follow 2 of the 3 rows"});
  expect_error([&] { writer->append(Matrix(DType::f32, 1, 3)); }, ErrorCode::invalid_argument,
               {path, "1 rows of 3 f32", "rows of 2 f32"});
  expect_error([&] { writer->append(Matrix(DType::f16, 1, 2)); }, ErrorCode::invalid_argument,
               {path, "1 rows of 2 f16", "rows of 2 f32"});
}

TEST(RowWriter, WhatTheFileCannotHoldIsRefusedAtOnce) {
  const TempFolder folder;
  expect_error([&] { create_rows(folder.path("a.fbin"), DType::f64, 1, 1); },
               ErrorCode::invalid_argument, {"f64", ".npy"});
  expect_error([&] { create_rows(folder.path("a.fbin"), DType::f32, std::int64_t{1} << 32, 1); },
               ErrorCode::invalid_argument, {"4294967296 rows"});
  expect_error([&] { create_rows(folder.path("a.fbin"), DType::f32, -1, 1); },
               ErrorCode::invalid_argument, {"-1 rows"});
  expect_error([&] { create_rows(folder.path("a.fbin"), DType::f32, 0, 70'000); },
               ErrorCode::invalid_argument, {"65536 columns", "70000"});
  const std::int64_t wraps = (std::int64_t{1} << 61) + 4;
  expect_error([&] { create_rows(folder.path("a.npy"), DType::f64, 1, wraps); },
               ErrorCode::invalid_argument, {"65536 columns"});
  EXPECT_EQ(folder.file_count(), 0);
}

}  // namespace
}  // namespace nearfield
