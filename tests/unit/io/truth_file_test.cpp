#include <array>
#include <cstdint>
#include <cstring>
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

std::string truth_bytes(std::uint32_t rows, std::uint32_t k, std::size_t payload) {
  const std::array counts{rows, k};
  std::string bytes(sizeof counts, '\0');
  std::memcpy(bytes.data(), counts.data(), sizeof counts);
  return bytes.append(payload, '\1');
}

TEST(TruthFile, RoundTrips) {
  const TempFolder folder;
  const std::string path = folder.path("truth");
  const std::vector<std::int64_t> ids{0, 1, INT32_MAX, std::int64_t{1} << 31, 4'294'967'294, -1};
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> distances{0, 0.5F, 1, 2, 3e38F, infinity};
  write_truth(path, ids, distances, 2, 3);
  const Truth truth = read_truth(path);
  EXPECT_EQ(truth.rows, 2);
  EXPECT_EQ(truth.k, 3);
  EXPECT_EQ(truth.ids, ids);
  EXPECT_EQ(truth.distances, distances);
}

TEST(TruthFile, EmptyRoundTrips) {
  const TempFolder folder;
  write_truth(folder.path("truth"), {}, {}, 0, 10);
  const Truth truth = read_truth(folder.path("truth"));
  EXPECT_EQ(truth.rows, 0);
  EXPECT_EQ(truth.k, 10);
  EXPECT_TRUE(truth.ids.empty());
  EXPECT_TRUE(truth.distances.empty());
}

TEST(TruthFile, BytesAreThoseOfTheFormat) {
  const TempFolder folder;
  write_truth(folder.path("t"), std::vector<std::int64_t>{7, -1}, std::vector<float>{1, 2}, 1, 2);
  EXPECT_EQ(folder.get("t"), std::string("\1\0\0\0\2\0\0\0\7\0\0\0\xFF\xFF\xFF\xFF"
                                         "\0\0\x80\x3F\0\0\0\x40",
                                         24));
}

TEST(TruthFile, CutAtEachByteOrTooLong) {
  const TempFolder folder;
  const std::string whole = truth_bytes(2, 3, 60);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string path = folder.put("truth", whole.substr(0, size));
    if (size == 56) {
      EXPECT_EQ(read_truth(path).ids.size(), 6U);
    } else if (size < 8) {
      expect_error([&] { read_truth(path); }, ErrorCode::corrupt_file,
                   {path, std::to_string(size) + " bytes", "the 8 of a header", "uint32 k"});
    } else {
      expect_error([&] { read_truth(path); }, ErrorCode::corrupt_file,
                   {path, "2 rows x 3 neighbours", "56 bytes in all",
                    "the file has " + std::to_string(size)});
    }
  }
}

// Nothing may be allocated for them.
TEST(TruthFile, HeaderLies) {
  const TempFolder folder;
  const auto read = [&](std::uint32_t rows, std::uint32_t k, std::size_t payload) {
    const std::string path = folder.put("truth", truth_bytes(rows, k, payload));
    return [path] { read_truth(path); };
  };
  expect_error(read(3, 3, 48), ErrorCode::corrupt_file, {"3 rows", "80 bytes", "has 56"});
  expect_error(read(2, 2, 48), ErrorCode::corrupt_file, {"2 neighbours", "40 bytes", "has 56"});
  expect_error(read(5, 0, 0), ErrorCode::corrupt_file, {"5 rows of 0 neighbours"});
  expect_error(read(2, 3, 24), ErrorCode::corrupt_file, {"has 32", "an .ibin or a .fbin"});
  expect_error(read(0xFFFF'FFFF, 0xFFFF'FFFF, 8), ErrorCode::corrupt_file,
               {"4294967295 rows x 4294967295", "2^63", "has 16"});
  expect_error(read(0x8000'0000, 0x4000'0000, 0), ErrorCode::corrupt_file,
               {"2147483648 rows", "2^63", "has 8"});
}

TEST(TruthFile, PagesAreRecognised) {
  const TempFolder folder;
  const std::string path = folder.put("truth", "<!DOCTYPE html><html></html>");
  expect_error([&] { read_truth(path); }, ErrorCode::corrupt_file, {path, "HTML", "28 bytes"});
}

TEST(TruthFile, WhatDoesNotFitIsNotWritten) {
  const TempFolder folder;
  const std::string path = folder.path("truth");
  const std::vector<std::int64_t> ids{0, 1, 4'294'967'295, 3};
  const std::vector<float> distances(4);
  expect_error([&] { write_truth(path, ids, distances, 2, 2); }, ErrorCode::invalid_argument,
               {path, "4294967295", "row 1, column 0", "4294967294"});
  expect_error([&] { write_truth(path, ids, distances, 2, 3); }, ErrorCode::invalid_argument,
               {path, "need 6 ids, got 4"});
  expect_error([&] { write_truth(path, ids, std::vector<float>(3), 2, 2); },
               ErrorCode::invalid_argument, {path, "need 4 distances, got 3"});
  expect_error([&] { write_truth(path, {}, {}, 4, 0); }, ErrorCode::invalid_argument,
               {path, "4 rows of 0"});
  expect_error([&] { write_truth(path, {}, {}, -1, 0); }, ErrorCode::invalid_argument,
               {path, "-1 rows", "4294967295"});
  EXPECT_EQ(folder.file_count(), 0);
}

}  // namespace
}  // namespace nearfield
