#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
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

std::string header_bytes(std::uint32_t rows, std::uint32_t cols) {
  const std::array counts{rows, cols};
  std::string bytes(sizeof counts, '\0');
  std::memcpy(bytes.data(), counts.data(), sizeof counts);
  return bytes;
}

// A file with `payload` bytes after a header that says what it likes.
std::string bin_bytes(std::uint32_t rows, std::uint32_t cols, std::size_t payload) {
  return header_bytes(rows, cols) + test::payload_bytes(payload);
}

struct TypeCase {
  DType dtype;
  std::string ending;
  std::int64_t bits = 0;  // FileOptions::bits to read it back with
};

class BinFileTypes : public testing::TestWithParam<TypeCase> {};

TEST_P(BinFileTypes, RoundTripsDenseAndPadded) {
  const TempFolder folder;
  const std::string path = folder.path("a" + GetParam().ending);
  const FileOptions options{GetParam().bits};
  const std::int64_t cols = GetParam().bits != 0 ? GetParam().bits : 13;
  for (const auto layout : {Matrix::Layout::dense, Matrix::Layout::aligned_rows}) {
    Matrix matrix(GetParam().dtype, 57, cols, layout);
    fill(matrix);
    write_matrix(path, matrix);
    const auto bytes = static_cast<std::uintmax_t>(8 + 57 * row_bytes(GetParam().dtype, cols));
    EXPECT_EQ(std::filesystem::file_size(path), bytes);
    expect_rows_equal(read_matrix(path, options), matrix);
  }
}

TEST_P(BinFileTypes, EmptyRoundTrips) {
  const TempFolder folder;
  const std::string path = folder.path("a" + GetParam().ending);
  const std::int64_t cols = GetParam().bits != 0 ? GetParam().bits : 13;
  write_matrix(path, Matrix(GetParam().dtype, 0, cols));
  const Matrix matrix = read_matrix(path, {GetParam().bits});
  EXPECT_EQ(matrix.rows(), 0);
  EXPECT_EQ(matrix.cols(), cols);
}

INSTANTIATE_TEST_SUITE_P(
    All, BinFileTypes,
    testing::Values(TypeCase{DType::f32, ".fbin"}, TypeCase{DType::f16, ".f16bin"},
                    TypeCase{DType::u8, ".u8bin"}, TypeCase{DType::i8, ".i8bin"},
                    TypeCase{DType::bits, ".u8bin", 100}),
    [](const auto& param_info) { return std::string(to_string(param_info.param.dtype)); });

TEST(BinFile, BytesAreThoseOfTheFormat) {
  const TempFolder folder;
  const std::array<std::uint8_t, 6> values{1, 2, 3, 4, 5, 6};
  write_matrix(folder.path("a.u8bin"), MatrixView(values.data(), 2, 3));
  EXPECT_EQ(folder.get("a.u8bin"), std::string("\2\0\0\0\3\0\0\0\1\2\3\4\5\6", 14));
}

TEST(OpenRows, ReadsPiecesIntoDenseAndPaddedBuffers) {
  const TempFolder folder;
  // Several reads and moves a piece: rows of 5,200 bytes, padded to 5,248.
  Matrix matrix(DType::f32, 400, 1300);
  fill(matrix);
  write_matrix(folder.path("a.fbin"), matrix);
  const auto rows = open_rows(folder.path("a.fbin"));
  EXPECT_FALSE(rows->in_memory());
  for (const auto layout : {Matrix::Layout::dense, Matrix::Layout::aligned_rows}) {
    Matrix buffer(DType::f32, 300, 1300, layout);
    for (const auto& [first, count] : {std::pair{0, 300}, {300, 100}, {399, 1}, {7, 0}, {400, 0}}) {
      rows->read(first, count, buffer, 0);
      expect_rows_equal(buffer.view().slice(0, count), matrix.view().slice(first, count));
    }
  }
}

TEST(OpenRows, PaddingStaysZero) {
  const TempFolder folder;
  Matrix matrix(DType::i8, 20, 50);
  fill(matrix);
  write_matrix(folder.path("a.i8bin"), matrix);
  Matrix buffer(DType::i8, 20, 50, Matrix::Layout::aligned_rows);
  ASSERT_GT(buffer.stride_bytes(), 50);
  open_rows(folder.path("a.i8bin"))->read(0, 20, buffer, 0);
  for (std::int64_t i = 0; i < 20; ++i) {
    for (std::int64_t j = 50; j < buffer.stride_bytes(); ++j) {
      ASSERT_EQ(buffer.row(i)[j], std::byte{0}) << "row " << i << ", byte " << j;
    }
  }
}

TEST(OpenRows, WrongRequestsAreErrorsWithTheNumbers) {
  const TempFolder folder;
  const std::string path = folder.put("a.u8bin", bin_bytes(10, 3, 30));
  const auto rows = open_rows(path);
  Matrix buffer(DType::u8, 4, 3);
  const auto read = [&](std::int64_t first, std::int64_t count, Matrix& into) {
    return [&rows, first, count, &into] { rows->read(first, count, into, 0); };
  };
  expect_error(read(8, 3, buffer), ErrorCode::invalid_argument, {"3 rows", "row 8", "10"});
  expect_error(read(-1, 1, buffer), ErrorCode::invalid_argument, {"row -1"});
  expect_error(read(0, -1, buffer), ErrorCode::invalid_argument, {"-1 rows"});
  expect_error(read(INT64_MAX, 4, buffer), ErrorCode::invalid_argument, {"4 rows"});
  expect_error(read(0, 5, buffer), ErrorCode::invalid_argument, {"5 rows", "4 rows"});
  Matrix wrong_cols(DType::u8, 4, 2);
  expect_error(read(0, 4, wrong_cols), ErrorCode::invalid_argument, {"of 3 u8", "of 2 u8"});
  Matrix wrong_type(DType::i8, 4, 3);
  expect_error(read(0, 4, wrong_type), ErrorCode::invalid_argument, {"3 u8", "3 i8"});
}

TEST(BinHeader, CutAtEachByte) {
  const TempFolder folder;
  const std::string whole = bin_bytes(0, 4, 0);
  for (std::size_t size = 0; size < 8; ++size) {
    const std::string path = folder.put("a.fbin", whole.substr(0, size));
    expect_error([&] { open_rows(path); }, ErrorCode::corrupt_file,
                 {path, std::to_string(size) + " bytes", "the 8 of a header"});
  }
  EXPECT_EQ(open_rows(folder.put("a.fbin", whole))->rows(), 0);
}

TEST(BinHeader, PayloadCutAtEachByteOrTooLong) {
  const TempFolder folder;
  for (std::size_t payload = 0; payload < 30; ++payload) {
    if (payload == 24) {
      continue;
    }
    const std::string path = folder.put("a.f16bin", bin_bytes(3, 4, payload));
    expect_error([&] { read_matrix(path); }, ErrorCode::corrupt_file,
                 {path, "3 rows x 4 columns of 2 bytes", "32 bytes in all",
                  "has " + std::to_string(8 + payload)});
  }
}

TEST(BinHeader, LiesInEachDirection) {
  const TempFolder folder;
  const auto open = [&](std::uint32_t rows, std::uint32_t cols) {
    const std::string path = folder.put("a.fbin", bin_bytes(rows, cols, 10 * 4 * 4));
    return [path] { open_rows(path); };
  };
  expect_error(open(11, 4), ErrorCode::corrupt_file, {"11 rows", "184", "168", "cut short"});
  expect_error(open(10, 5), ErrorCode::corrupt_file, {"5 columns", "208", "168", "cut short"});
  expect_error(open(9, 4), ErrorCode::corrupt_file, {"9 rows", "152", "168", "16 bytes too many"});
  expect_error(open(10, 3), ErrorCode::corrupt_file, {"3 columns", "128", "168"});
  expect_error(open(0, 4), ErrorCode::corrupt_file, {"0 rows", "8 bytes in all", "168"});
  expect_error(open(10, 0), ErrorCode::corrupt_file, {"0 columns", "8 bytes in all", "168"});
  EXPECT_NO_THROW(open(10, 4)());
  EXPECT_NO_THROW(open(40, 1)());
}

TEST(BinHeader, RowsWithoutColumnsAreAnErrorAndNoRowsAreNot) {
  const TempFolder folder;
  const std::string path = folder.put("a.fbin", bin_bytes(5, 0, 0));
  expect_error([&] { open_rows(path); }, ErrorCode::corrupt_file, {path, "5 rows of 0 columns"});
  EXPECT_EQ(read_matrix(folder.put("b.fbin", bin_bytes(0, 0, 0))).rows(), 0);
}

// 2^32 - 1 rows and columns do not fit 64 bits of bytes; nothing may be allocated for them.
TEST(BinHeader, LargestCountsDoNotOverflow) {
  const TempFolder folder;
  for (const std::string ending : {".fbin", ".f16bin", ".u8bin", ".i8bin"}) {
    const std::string path = folder.put("a" + ending, bin_bytes(0xFFFF'FFFF, 0xFFFF'FFFF, 16));
    expect_error([&] { read_matrix(path); }, ErrorCode::corrupt_file,
                 {path, "4294967295 rows x 4294967295 columns", "24"});
  }
  const std::string ids = folder.put("a.ibin", bin_bytes(0xFFFF'FFFF, 0xFFFF'FFFF, 16));
  expect_error([&] { read_ids(ids); }, ErrorCode::corrupt_file, {ids, "4294967295 rows", "24"});
  // rows x columns x 4 wraps to 0 in 64 bits, and to 8 in all.
  const std::string wraps = folder.put("b.fbin", bin_bytes(0x8000'0000, 0x8000'0000, 0));
  expect_error([&] { read_matrix(wraps); }, ErrorCode::corrupt_file, {wraps, "2147483648 rows"});
}

TEST(BinHeader, TooManyColumnsAreAnErrorWithTheLimit) {
  const TempFolder folder;
  const std::string path = folder.put("a.u8bin", bin_bytes(1, 65'537, 65'537));
  expect_error([&] { open_rows(path); }, ErrorCode::unsupported, {path, "65537", "65536"});
  EXPECT_EQ(open_rows(folder.put("b.u8bin", bin_bytes(1, 65'536, 65'536)))->cols(), 65'536);
}

TEST(BinHeader, WrongEndingIsSuggested) {
  const TempFolder folder;
  const std::string path = folder.put("a.u8bin", bin_bytes(3, 5, 60));
  expect_error([&] { open_rows(path); }, ErrorCode::corrupt_file, {path, "23", "68", ".fbin"});
}

TEST(BinHeader, GroundTruthFileIsRecognised) {
  const TempFolder folder;
  const std::string bytes = bin_bytes(3, 10, 3 * 10 * 8);
  const std::string vectors = folder.put("truth.fbin", bytes);
  expect_error([&] { open_rows(vectors); }, ErrorCode::corrupt_file,
               {vectors, "ground-truth", "3 x 10", "248 bytes", "128 bytes"});
  const std::string ids = folder.put("truth.ibin", bytes);
  expect_error([&] { read_ids(ids); }, ErrorCode::corrupt_file, {ids, "ground-truth", "3 x 10"});
}

TEST(Recognise, GitLfsPointer) {
  const TempFolder folder;
  const std::string path = folder.put("a.fbin",
                                      "version https://git-lfs.github.com/spec/v1\n"
                                      "oid sha256:4665a5ea423c2713d436b5ee50593a9640e0018c1550b5a0"
                                      "002f74190d6caea8\nsize 512000008\n");
  expect_error([&] { open_rows(path); }, ErrorCode::corrupt_file,
               {path, "git-lfs pointer", "git lfs pull"});
}

TEST(Recognise, Pages) {
  const TempFolder folder;
  for (const std::string page :
       {"<!DOCTYPE html><html></html>", "<html>", "\xEF\xBB\xBF\r\n <HTML>x",
        "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>"}) {
    const std::string path = folder.put("a.u8bin", page);
    expect_error([&] { open_rows(path); }, ErrorCode::corrupt_file,
                 {path, "HTML or XML", std::to_string(page.size()) + " bytes"});
  }
}

TEST(Recognise, SixtyRowsAreNoPage) {
  const TempFolder folder;
  const std::string good = folder.put("a.u8bin", bin_bytes('<', 1, '<'));
  EXPECT_EQ(open_rows(good)->rows(), 60);
  const std::string cut = folder.put("b.u8bin", bin_bytes('<', 1, 3));
  expect_error([&] { open_rows(cut); }, ErrorCode::corrupt_file, {cut, "60 rows", "68", "11"});
}

TEST(Ending, UnknownListsTheKnown) {
  expect_error([] { open_rows("vectors.txt"); }, ErrorCode::invalid_argument,
               {"vectors.txt", ".fbin (f32)", ".f16bin (f16)", ".u8bin (u8)", ".i8bin (i8)",
                ".ibin (int32 ids)", ".fvecs (f32)", ".bvecs (u8)", ".ivecs (int32 ids)",
                ".npy (f64, f32, f16, u8, i8, int64 ids, int32 ids)"});
}

TEST(Ending, IdsAreNotVectorsNorVectorsIds) {
  const TempFolder folder;
  const std::string ids = folder.put("a.ibin", bin_bytes(2, 3, 24));
  expect_error([&] { open_rows(ids); }, ErrorCode::invalid_argument, {ids, "ids (2 x 3)"});
  const std::string vectors = folder.put("a.fbin", bin_bytes(2, 3, 24));
  expect_error([&] { read_ids(vectors); }, ErrorCode::invalid_argument,
               {vectors, "vectors, not ids", ".ibin"});
}

TEST(Bits, NeedAU8binOfTheRightWidth) {
  const TempFolder folder;
  const std::string path = folder.put("a.u8bin", bin_bytes(4, 13, 52));
  const auto rows = open_rows(path, {.bits = 100});
  EXPECT_EQ(rows->dtype(), DType::bits);
  EXPECT_EQ(rows->cols(), 100);
  EXPECT_EQ(open_rows(path, {.bits = 104})->cols(), 104);
  EXPECT_EQ(open_rows(path)->dtype(), DType::u8);
  const auto open = [&](std::int64_t bits) { return [=] { open_rows(path, {bits}); }; };
  expect_error(open(105), ErrorCode::invalid_argument, {path, "105", "14 bytes", "13 columns"});
  expect_error(open(96), ErrorCode::invalid_argument, {path, "96", "12 bytes", "13 columns"});
  expect_error(open(-1), ErrorCode::invalid_argument, {path, "-1", "65536"});
  expect_error(open(INT64_MAX), ErrorCode::invalid_argument, {path, "65536"});
  const std::string floats = folder.put("a.fbin", bin_bytes(1, 13, 52));
  expect_error([&] { open_rows(floats, {.bits = 104}); }, ErrorCode::invalid_argument,
               {floats, "104", ".u8bin"});
}

TEST(WriteMatrix, EndingMustBeThatOfTheType) {
  const TempFolder folder;
  const Matrix floats(DType::f32, 2, 3);
  expect_error([&] { write_matrix(folder.path("a.u8bin"), floats); }, ErrorCode::invalid_argument,
               {folder.path("a.u8bin"), "f32", ".fbin"});
  const Matrix bits(DType::bits, 2, 9);
  expect_error([&] { write_matrix(folder.path("a.i8bin"), bits); }, ErrorCode::invalid_argument,
               {"bits", ".u8bin"});
  const Matrix doubles(DType::f64, 2, 3);
  expect_error([&] { write_matrix(folder.path("a.fbin"), doubles); }, ErrorCode::invalid_argument,
               {folder.path("a.fbin"), "f64", "written as .npy"});
  const Matrix brains(DType::bf16, 2, 3);
  expect_error([&] { write_matrix(folder.path("a.fbin"), brains); }, ErrorCode::unsupported,
               {folder.path("a.fbin"), "bf16", ".fbin (f32)"});
  EXPECT_EQ(folder.file_count(), 0);
}

TEST(WriteMatrix, ShapesTheReaderRefusesAreNotWritten) {
  const TempFolder folder;
  const std::string path = folder.path("a.fbin");
  const float value = 0;
  const std::int64_t rows = std::int64_t{1} << 32;
  expect_error([&] { write_matrix(path, MatrixView(&value, rows, 1)); },
               ErrorCode::invalid_argument, {path, "4294967296 rows", "4294967295"});
  expect_error([&] { write_matrix(path, Matrix(DType::f32, 5, 0)); }, ErrorCode::invalid_argument,
               {path, "5 rows of 0 columns"});
  EXPECT_EQ(folder.file_count(), 0);
}

TEST(WriteMatrix, DeviceNeedsNoEnding) {
  EXPECT_NO_THROW(write_matrix("/dev/null", Matrix(DType::f32, 2, 3)));
  EXPECT_NO_THROW(write_matrix("/dev/null", Matrix(DType::f64, 2, 3)));
  EXPECT_NO_THROW(write_ids("/dev/null", {}, 0, 10));
}

TEST(WriteIds, RoundTrips) {
  const TempFolder folder;
  const std::string path = folder.path("a.ibin");
  std::vector<std::int64_t> ids(9'999);  // more than one piece
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ids[i] = static_cast<std::int64_t>(i) - 1;
  }
  ids.back() = INT32_MAX;
  write_ids(path, ids, 1'111, 9);
  EXPECT_EQ(folder.get("a.ibin").substr(0, 8), header_bytes(1'111, 9));
  EXPECT_EQ(read_ids(path).ids, ids);
  write_ids(path, {}, 0, 10);
  EXPECT_TRUE(read_ids(path).ids.empty());
}

TEST(WriteIds, IdThatDoesNotFitLeavesTheOldFile) {
  const TempFolder folder;
  const std::string path = folder.put("a.ibin", "old");
  const std::vector<std::int64_t> large{0, 1, 2, std::int64_t{1} << 31};
  expect_error([&] { write_ids(path, large, 2, 2); }, ErrorCode::invalid_argument,
               {path, "2147483648", "row 1, column 1", "2147483647"});
  const std::vector<std::int64_t> negative{0, -2};
  expect_error([&] { write_ids(path, negative, 1, 2); }, ErrorCode::invalid_argument,
               {"id -2", "column 1"});
  EXPECT_EQ(folder.get("a.ibin"), "old");
  expect_error([&] { write_ids(folder.path("b.ibin"), large, 2, 2); }, ErrorCode::invalid_argument,
               {"2147483648"});
  EXPECT_EQ(folder.file_count(), 1);
}

TEST(WriteIds, ShapeMustBeThatOfTheIds) {
  const TempFolder folder;
  const std::string path = folder.path("a.ibin");
  const std::vector<std::int64_t> ids(6);
  const auto write = [&](std::int64_t rows, std::int64_t cols) {
    return [&, rows, cols] { write_ids(path, ids, rows, cols); };
  };
  expect_error(write(2, 4), ErrorCode::invalid_argument, {path, "2 rows x 4", "8 ids", "got 6"});
  expect_error(write(-2, -3), ErrorCode::invalid_argument, {path, "-2 rows", "4294967295"});
  expect_error(write(std::int64_t{1} << 32, 1), ErrorCode::invalid_argument, {"4294967296"});
  expect_error(write(0xFFFF'FFFF, 0xFFFF'FFFF), ErrorCode::invalid_argument, {"63 bits"});
  expect_error(write(6, 0), ErrorCode::invalid_argument, {"6 rows of 0 columns"});
  expect_error([&] { write_ids(folder.path("a.fbin"), ids, 2, 3); }, ErrorCode::invalid_argument,
               {"a.fbin", ".ibin or .ivecs or .npy"});
  EXPECT_EQ(folder.file_count(), 0);
}

TEST(WriteIds, FolderAsTargetLeavesNoTemporary) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.path("sub.ibin"));
  expect_error([&] { write_ids(folder.path("sub.ibin"), {}, 0, 1); }, ErrorCode::io,
               {folder.path("sub.ibin"), "folder"});
  EXPECT_EQ(folder.file_count(), 1);
}

}  // namespace
}  // namespace nearfield
