#include <cstdint>
#include <filesystem>
#include <string>
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

std::string magic(int major) { return "\x93NUMPY" + std::string{static_cast<char>(major), '\0'}; }

std::string little_endian(std::size_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) {
    text.push_back(static_cast<char>(value >> (8 * i)));
  }
  return text;
}

// A header as numpy pads it, so that the values begin at a multiple of 64 bytes.
std::string header_bytes(std::string text, int major = 1) {
  const int length_bytes = major == 1 ? 2 : 4;
  while ((9 + static_cast<std::size_t>(length_bytes) + text.size()) % 64 != 0) {
    text.push_back(' ');
  }
  text.push_back('\n');
  return magic(major) + little_endian(text.size(), length_bytes) + text;
}

std::string dictionary(const std::string& descr, const std::string& shape,
                       const std::string& order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

// A file with `payload` bytes after a header that says what it likes.
std::string npy_bytes(const std::string& descr, const std::string& shape, std::size_t payload) {
  return header_bytes(dictionary(descr, shape)) + test::payload_bytes(payload);
}

struct NpyTypeCase {
  DType dtype;
  std::string descr;
  std::int64_t bits = 0;  // FileOptions::bits to read it back with
};

class NpyFileTypes : public testing::TestWithParam<NpyTypeCase> {};

TEST_P(NpyFileTypes, RoundTripsDenseAndPadded) {
  const TempFolder folder;
  const auto& [dtype, descr, bits] = GetParam();
  const std::string path = folder.path("a.npy");
  const std::int64_t cols = bits != 0 ? bits : 13;
  for (const auto layout : {Matrix::Layout::dense, Matrix::Layout::aligned_rows}) {
    Matrix matrix(dtype, 57, cols, layout);
    fill(matrix);
    write_matrix(path, matrix);
    EXPECT_EQ(std::filesystem::file_size(path),
              static_cast<std::uintmax_t>(128 + 57 * row_bytes(dtype, cols)));
    EXPECT_EQ(folder.get("a.npy").substr(0, 128), header_bytes(dictionary(descr, "(57, 13)")));
    expect_rows_equal(read_matrix(path, {bits}), matrix);
    const auto rows = open_rows(path, {bits});
    ASSERT_TRUE(rows->in_memory());
    expect_rows_equal(*rows->in_memory(), matrix);
    Matrix buffer(dtype, 20, cols, layout);
    rows->read(37, 20, buffer, 0);
    expect_rows_equal(buffer, matrix.view().slice(37, 20));
  }
}

TEST_P(NpyFileTypes, EmptyRoundTrips) {
  const TempFolder folder;
  const auto& [dtype, descr, bits] = GetParam();
  const std::int64_t cols = bits != 0 ? bits : 13;
  write_matrix(folder.path("a.npy"), Matrix(dtype, 0, cols));
  const auto rows = open_rows(folder.path("a.npy"), {bits});
  EXPECT_EQ(rows->in_memory()->rows(), 0);
  EXPECT_EQ(rows->cols(), cols);
  EXPECT_EQ(read_matrix(folder.path("a.npy"), {bits}).rows(), 0);
}

INSTANTIATE_TEST_SUITE_P(
    All, NpyFileTypes,
    testing::Values(NpyTypeCase{DType::f64, "<f8"}, NpyTypeCase{DType::f32, "<f4"},
                    NpyTypeCase{DType::f16, "<f2"}, NpyTypeCase{DType::u8, "|u1"},
                    NpyTypeCase{DType::i8, "|i1"}, NpyTypeCase{DType::bits, "|u1", 100}),
    [](const auto& param_info) { return std::string(to_string(param_info.param.dtype)); });

TEST(NpyFile, MappingOutlivesTheName) {
  const TempFolder folder;
  Matrix matrix(DType::f32, 40, 7);
  fill(matrix);
  write_matrix(folder.path("a.npy"), matrix);
  const auto rows = open_rows(folder.path("a.npy"));
  std::filesystem::remove(folder.path("a.npy"));
  expect_rows_equal(*rows->in_memory(), matrix);
}

TEST(NpyFile, VersionsAndSpellings) {
  const TempFolder folder;
  const auto rows_of = [&](const std::string& header) {
    return open_rows(folder.put("a.npy", header + std::string(24, 'x')))->rows();
  };
  for (const int major : {1, 2, 3}) {
    EXPECT_EQ(rows_of(header_bytes(dictionary("<f4", "(2, 3)"), major)), 2);
  }
  for (const std::string text :
       {"{'shape':(2,3),'fortran_order':False,'descr':'<f4'}",
        "{ \"descr\" : \"<f4\" , 'fortran_order': False, 'shape': ( 2 , 3 , ) }",
        "\t{\n'fortran_order': False, 'descr': '<f4', 'shape': (2, 3)\n}"}) {
    EXPECT_EQ(rows_of(header_bytes(text)), 2) << text;
  }
}

TEST(NpyFile, OtherVersionsAreAnError) {
  const TempFolder folder;
  for (const auto& [major, minor] : {std::pair{0, 0}, {4, 0}, {1, 1}, {255, 0}}) {
    std::string bytes = npy_bytes("<f4", "(2, 3)", 24);
    bytes[6] = static_cast<char>(major);
    bytes[7] = static_cast<char>(minor);
    const std::string path = folder.put("a.npy", bytes);
    expect_error([&] { open_rows(path); }, ErrorCode::unsupported,
                 {path, "version " + std::to_string(major) + "." + std::to_string(minor), "3.0"});
  }
}

TEST(NpyFile, CutAtEachByte) {
  const TempFolder folder;
  for (const int major : {1, 2, 3}) {
    const std::string whole = header_bytes(dictionary("<f4", "(2, 3)"), major) + "0123456789";
    for (std::size_t size = 0; size <= whole.size(); ++size) {
      const std::string path = folder.put("a.npy", whole.substr(0, size));
      expect_error([&] { read_matrix(path); }, ErrorCode::corrupt_file,
                   {path, std::to_string(size)});
    }
  }
}

TEST(NpyFile, LengthOfTheHeaderLies) {
  const TempFolder folder;
  const std::string text = dictionary("<f4", "(2, 3)");
  const auto open = [&](int major, std::size_t length) {
    const std::string path =
        folder.put("a.npy", magic(major) + little_endian(length, major == 1 ? 2 : 4) + text);
    return [path] { open_rows(path); };
  };
  expect_error(open(1, text.size() + 1), ErrorCode::corrupt_file,
               {"length", std::to_string(text.size() + 1), "the file has"});
  expect_error(open(1, text.size() - 1), ErrorCode::corrupt_file,
               {"ends", "expected a text in quotes"});
  expect_error(open(1, 0), ErrorCode::corrupt_file, {"header of 0 bytes ends", "expected '{'"});
  expect_error(open(1, 65'535), ErrorCode::unsupported, {"65535", "10000"});
  expect_error(open(2, 0xFFFF'FFFF), ErrorCode::unsupported, {"4294967295", "10000"});
}

TEST(NpyFile, ShapeLiesInEachDirection) {
  const TempFolder folder;
  const auto open = [&](const std::string& shape) {
    const std::string path = folder.put("a.npy", npy_bytes("<f4", shape, 160));
    return [path] { open_rows(path); };
  };
  EXPECT_NO_THROW(open("(10, 4)")());
  EXPECT_NO_THROW(open("(40, 1)")());
  expect_error(open("(11, 4)"), ErrorCode::corrupt_file, {"11 rows", "304", "288", "cut short"});
  expect_error(open("(10, 5)"), ErrorCode::corrupt_file, {"5 columns", "328", "288"});
  expect_error(open("(9, 4)"), ErrorCode::corrupt_file, {"9 rows", "272", "288", "more than one"});
  expect_error(open("(10, 3)"), ErrorCode::corrupt_file, {"3 columns", "248", "288"});
  expect_error(open("(0, 4)"), ErrorCode::corrupt_file, {"0 rows", "128 bytes in all", "288"});
}

TEST(NpyFile, RowsWithoutColumnsAreAnErrorAndNoRowsAreNot) {
  const TempFolder folder;
  const std::string path = folder.put("a.npy", npy_bytes("<f4", "(5, 0)", 0));
  expect_error([&] { open_rows(path); }, ErrorCode::corrupt_file, {path, "5 rows of 0 columns"});
  EXPECT_EQ(read_matrix(folder.put("b.npy", npy_bytes("<f4", "(0, 0)", 0))).rows(), 0);
}

// Nothing may be allocated for them.
TEST(NpyFile, LargestShapesDoNotOverflow) {
  const TempFolder folder;
  for (const std::string shape :
       {"(9223372036854775807, 9223372036854775807)", "(4611686018427387904, 4)",
        "(4294967296, 4294967296)", "(2305843009213693952, 1)"}) {
    for (const std::string descr : {"<f8", "<i8"}) {
      const std::string path = folder.put("a.npy", npy_bytes(descr, shape, 0));
      expect_error([&] { read_ids(path); }, ErrorCode::corrupt_file, {path, "rows x", "128"});
      expect_error([&] { read_matrix(path); }, ErrorCode::corrupt_file, {path, "more than any"});
    }
  }
  const std::string wide = folder.put("a.npy", npy_bytes("<f4", "(0, 9223372036854775807)", 0));
  expect_error([&] { open_rows(wide); }, ErrorCode::unsupported, {"9223372036854775807", "65536"});
  EXPECT_TRUE(
      read_ids(folder.put("a.npy", npy_bytes("<i8", "(0, 9223372036854775807)", 0))).ids.empty());
  const std::string more = folder.put("a.npy", npy_bytes("<f4", "(9223372036854775808, 1)", 0));
  expect_error([&] { open_rows(more); }, ErrorCode::corrupt_file, {more, "63 bits"});
}

TEST(NpyFile, FortranOrderSaysHowToConvert) {
  const TempFolder folder;
  const std::string path =
      folder.put("a.npy", header_bytes(dictionary("<f4", "(2, 3)", "True")) + std::string(24, 'x'));
  expect_error([&] { open_rows(path); }, ErrorCode::unsupported,
               {path, "fortran_order", "True", "numpy.ascontiguousarray"});
}

TEST(NpyFile, OtherTypesAreAnError) {
  const TempFolder folder;
  for (const std::string descr : {">f4", "<c8", "|O", "<u4", "<i2", "|b1", "<V2", "", "f4"}) {
    const std::string path = folder.put("a.npy", npy_bytes(descr, "(2, 3)", 24));
    expect_error([&] { open_rows(path); }, ErrorCode::unsupported,
                 {path, "descr", "'" + descr + "'", "<f8, <f4, <f2, |u1, |i1, <i8, <i4"});
  }
  const std::string fields = folder.put(
      "a.npy", header_bytes("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (2,), }"));
  expect_error([&] { open_rows(fields); }, ErrorCode::unsupported, {fields, "byte 10", "fields"});
}

TEST(NpyFile, OtherDimensionsAreAnError) {
  const TempFolder folder;
  const auto open = [&](const std::string& shape, std::size_t payload) {
    const std::string path = folder.put("a.npy", npy_bytes("<f4", shape, payload));
    return [path] { open_rows(path); };
  };
  expect_error(open("()", 4), ErrorCode::unsupported, {"shape", "()", "0 dimensions", "2"});
  expect_error(open("(6,)", 24), ErrorCode::unsupported, {"(6)", "1 dimensions", "reshape"});
  expect_error(open("(1, 2, 3)", 24), ErrorCode::unsupported, {"(1, 2, 3)", "3 dimensions"});
}

TEST(NpyFile, OtherTextsAreAnErrorWithTheByte) {
  const TempFolder folder;
  const auto expect_text = [&](const std::string& text,
                               std::initializer_list<std::string_view> parts) {
    const std::string path = folder.put("a.npy", magic(1) + little_endian(text.size(), 2) + text);
    SCOPED_TRACE(text);
    expect_error([&] { open_rows(path); }, ErrorCode::corrupt_file, parts);
  };
  expect_text("", {"ends at byte 0", "'{'"});
  expect_text("[]", {"has '[' at byte 0", "'{'"});
  expect_text("{}", {"no key 'descr'"});
  expect_text("{'descr': '<f4', 'shape': (1, 1)}", {"no key 'fortran_order'"});
  expect_text("{'descr': '<f4', 'fortran_order': False}", {"no key 'shape'"});
  expect_text("{'descr': '<f4', 'descr': '<f4'}", {"'descr' twice", "byte 17"});
  expect_text("{'other': 1}", {"key 'other' at byte 1"});
  expect_text("{'descr", {"ends at byte 7", "the end of a text"});
  expect_text("{'de\\x41': 1}", {"has '\\' at byte 4"});
  expect_text("{'d\xC3\xA9': 1}", {"has the byte 0xC3 at byte 3"});
  expect_text("{'descr' '<f4'}", {"has ''' at byte 9", "':'"});
  expect_text("{descr: '<f4'}", {"has 'd' at byte 1", "a text in quotes"});
  expect_text("{'fortran_order': 0}", {"has '0' at byte 18", "'False'"});
  expect_text("{'shape': (3)}", {"has ')' at byte 12", "','"});
  expect_text("{'shape': (-3, 1)}", {"has '-' at byte 11", "a number"});
  expect_text("{'shape': (3L, 1)}", {"has 'L' at byte 12"});
  expect_text("{'shape': (3, 1, , )}", {"has ',' at byte 17", "a number"});
  expect_text("{'shape': 3}", {"has '3' at byte 10", "'('"});
  expect_text("{'shape': (3, 1)} x", {"has 'x' at byte 18", "its end"});
  expect_text("{'shape': (3, ", {"ends at byte 14", "a number"});
}

TEST(NpyFile, ValuesMustBeAligned) {
  const TempFolder folder;
  const std::string text = dictionary("<f8", "(1, 1)");
  const std::string bytes = magic(1) + little_endian(text.size(), 2) + text + "12345678";
  const std::string path = folder.put("a.npy", bytes);
  ASSERT_NE((bytes.size() - 8) % 8, 0U);
  expect_error([&] { open_rows(path); }, ErrorCode::unsupported,
               {path, "begin at byte " + std::to_string(bytes.size() - 8), "the 8 bytes"});
  EXPECT_EQ(read_matrix(path).rows(), 1);  // copies them
}

TEST(NpyFile, WhatItReallyIs) {
  const TempFolder folder;
  const std::string page = folder.put("a.npy", "<!DOCTYPE html><html></html>");
  expect_error([&] { open_rows(page); }, ErrorCode::corrupt_file, {page, "HTML", "28 bytes"});
  const std::string other = folder.put("b.npy", "PK\3\4 is a .npz");
  expect_error([&] { open_rows(other); }, ErrorCode::corrupt_file, {other, "6 bytes", "NUMPY"});
}

TEST(NpyFile, BitsNeedBytesOfTheRightWidth) {
  const TempFolder folder;
  const std::string path = folder.put("a.npy", npy_bytes("|u1", "(4, 13)", 52));
  EXPECT_EQ(open_rows(path, {.bits = 100})->dtype(), DType::bits);
  EXPECT_EQ(open_rows(path)->dtype(), DType::u8);
  expect_error([&] { open_rows(path, {.bits = 105}); }, ErrorCode::invalid_argument,
               {path, "105", "14 bytes", "13 columns"});
  const std::string floats = folder.put("b.npy", npy_bytes("<f4", "(1, 13)", 52));
  expect_error([&] { open_rows(floats, {.bits = 104}); }, ErrorCode::invalid_argument,
               {floats, "104", "f32", "u8"});
}

TEST(NpyFile, IdsRoundTrip) {
  const TempFolder folder;
  const std::string path = folder.path("a.npy");
  const std::vector<std::int64_t> ids{0, -1, INT32_MAX, std::int64_t{1} << 31, INT64_MAX, 5};
  write_ids(path, ids, 2, 3);
  EXPECT_EQ(folder.get("a.npy").substr(0, 128), header_bytes(dictionary("<i8", "(2, 3)")));
  EXPECT_EQ(read_ids(path).ids, ids);
  write_ids(path, {}, 0, 10);
  EXPECT_TRUE(read_ids(path).ids.empty());
  expect_error(
      [&] {
        write_ids(path, std::vector<std::int64_t>{0, -2}, 1, 2);
      },
      ErrorCode::invalid_argument, {path, "id -2", "column 1"});
}

TEST(NpyFile, IdsOfOneDimensionAndOfInt32) {
  const TempFolder folder;
  const std::string values("\5\0\0\0\xFF\xFF\xFF\xFF", 8);
  const std::string header = header_bytes(dictionary("<i4", "(2,)"));
  const std::vector<std::int64_t> ids{5, -1};
  EXPECT_EQ(read_ids(folder.put("a.npy", header + values)).ids, ids);
  EXPECT_EQ(read_ids(folder.put("a.npy", header_bytes(dictionary("<i4", "(1, 2)")) + values)).ids,
            ids);
  EXPECT_TRUE(read_ids(folder.put("a.npy", npy_bytes("<i8", "(0,)", 0))).ids.empty());
}

TEST(NpyFile, IdsAreNotVectorsNorVectorsIds) {
  const TempFolder folder;
  const std::string ids = folder.put("a.npy", npy_bytes("<i8", "(2, 3)", 48));
  expect_error([&] { open_rows(ids); }, ErrorCode::invalid_argument, {ids, "int64 ids (2 x 3)"});
  const std::string vectors = folder.put("b.npy", npy_bytes("<f4", "(2, 3)", 24));
  expect_error([&] { read_ids(vectors); }, ErrorCode::invalid_argument,
               {vectors, "f32 vectors, not ids (2 x 3)"});
}

}  // namespace
}  // namespace nearfield
