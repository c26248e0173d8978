#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nearfield/files.hpp>

#include "temp_folder.hpp"
#include "tests/unit/expect_error.hpp"

namespace nearfield {
namespace {

using test::expect_error;
using test::TempFolder;
using Content = FileInfo::Content;

void expect_info(const std::string& path, const FileInfo& expected) {
  const FileInfo info = file_info(path);
  EXPECT_EQ(info.format, expected.format) << path;
  EXPECT_EQ(info.content, expected.content) << path;
  EXPECT_EQ(info.type, expected.type) << path;
  EXPECT_EQ(info.rows, expected.rows) << path;
  EXPECT_EQ(info.cols, expected.cols) << path;
  EXPECT_EQ(info.bytes, expected.bytes) << path;
}

TEST(FileInfo, VectorsAndIds) {
  const TempFolder folder;
  write_matrix(folder.path("a.fbin"), Matrix(DType::f32, 2, 3));
  write_matrix(folder.path("a.bvecs"), Matrix(DType::u8, 2, 3));
  write_ids(folder.path("a.ibin"), std::vector<std::int64_t>{1, 2}, 1, 2);
  write_ids(folder.path("a.npy"), std::vector<std::int64_t>{1, 2}, 1, 2);
  expect_info(folder.path("a.fbin"), {".fbin", Content::vectors, "f32", 2, 3, 32});
  expect_info(folder.path("a.bvecs"), {".bvecs", Content::vectors, "u8", 2, 3, 14});
  expect_info(folder.path("a.ibin"), {".ibin", Content::ids, "int32 ids", 1, 2, 16});
  expect_info(folder.path("a.npy"), {".npy", Content::ids, "int64 ids", 1, 2, 144});
}

TEST(FileInfo, GroundTruth) {
  const TempFolder folder;
  const std::vector<std::int64_t> ids{1, 2, 3, -1};
  const float inf = std::numeric_limits<float>::infinity();
  for (const std::string name : {"truth", "a.ibin"}) {
    write_truth(folder.path(name), ids, std::vector<float>{0, 0.5F, 7, inf}, 2, 2);
    expect_info(folder.path(name),
                {"truth", Content::truth, "uint32 ids, f32 distances", 2, 2, 40});
  }
}

TEST(FileInfo, SimilaritiesFall) {
  const TempFolder folder;
  write_truth(folder.path("a.ibin"), std::vector<std::int64_t>{5, 2, 3},
              std::vector<float>{2, 1, -4}, 1, 3);
  EXPECT_EQ(file_info(folder.path("a.ibin")).content, Content::truth);
}

// 8 bytes for each value, as ground truth has.
TEST(FileInfo, WiderValuesAreNoGroundTruth) {
  const TempFolder folder;
  const std::string header("\2\0\0\0\3\0\0\0", 8);
  const std::vector<std::int64_t> ids{4, 1, 9, 3, 2, 8};
  const std::string id_bytes(reinterpret_cast<const char*>(ids.data()), 48);
  expect_error([&] { file_info(folder.put("a.ibin", header + id_bytes)); }, ErrorCode::corrupt_file,
               {"a.ibin", "56 bytes", "int64", "write it as int32"});
  const std::vector<double> values{1, 2, 3, 4, 5, 6};
  const std::string value_bytes(reinterpret_cast<const char*>(values.data()), 48);
  expect_error([&] { file_info(folder.put("a.fbin", header + value_bytes)); },
               ErrorCode::corrupt_file, {"a.fbin", "56 bytes", "f64", "write it as f32"});
}

// Its first two numbers are 10 and 1, and 8 + 8 x 10 x 1 is its size: still it says what it is.
TEST(FileInfo, IdsThatLookLikeGroundTruth) {
  const TempFolder folder;
  write_ids(folder.path("a.ivecs"), std::vector<std::int64_t>(20, 1), 2, 10);
  expect_info(folder.path("a.ivecs"), {".ivecs", Content::ids, "int32 ids", 2, 10, 88});
}

// Both would be 8 bytes: the name decides.
TEST(FileInfo, Empty) {
  const TempFolder folder;
  write_matrix(folder.path("a.fbin"), Matrix(DType::f32, 0, 3));
  write_truth(folder.path("truth"), {}, {}, 0, 3);
  expect_info(folder.path("a.fbin"), {".fbin", Content::vectors, "f32", 0, 3, 8});
  expect_info(folder.path("truth"),
              {"truth", Content::truth, "uint32 ids, f32 distances", 0, 3, 8});
}

TEST(FileInfo, WhatIsNeither) {
  const TempFolder folder;
  expect_error([&] { file_info(folder.put("a.txt", "some text, 24 bytes long")); },
               ErrorCode::corrupt_file, {"a.txt", "24 bytes", "ground truth", ".fvecs (f32)"});
  expect_error([&] { file_info(folder.put("truth", "<!DOCTYPE html><html></html>")); },
               ErrorCode::corrupt_file, {"HTML"});
  expect_error([&] { file_info(folder.put("a.fbin", "123")); }, ErrorCode::corrupt_file,
               {"a.fbin", "3 bytes"});
}

}  // namespace
}  // namespace nearfield
