#include "io/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nearfield/files.hpp>
#include <nearfield/output_file.hpp>

#include "temp_folder.hpp"
#include "tests/unit/expect_error.hpp"

namespace nearfield {
namespace {

using test::expect_error;
using test::TempFolder;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string read_text(const InputFile& file, std::int64_t offset, std::size_t count) {
  std::string text(count, '?');
  file.read_at(offset, std::as_writable_bytes(std::span(text)));
  return text;
}

TEST(InputFile, ReadsAtAnyOffset) {
  const TempFolder folder;
  const InputFile file(folder.put("a", "0123456789"));
  EXPECT_EQ(file.size(), 10);
  EXPECT_EQ(read_text(file, 0, 10), "0123456789");
  EXPECT_EQ(read_text(file, 7, 3), "789");
  EXPECT_EQ(read_text(file, 10, 0), "");
}

TEST(InputFile, ReadPastTheEndNamesFileOffsetAndBytes) {
  const TempFolder folder;
  const std::string path = folder.put("a", "0123456789");
  const InputFile file(path);
  expect_error([&] { read_text(file, 7, 5); }, ErrorCode::corrupt_file,
               {path, "3 of the 5 bytes", "offset 7", "10 bytes"});
}

TEST(InputFile, FileCutAfterOpeningIsAnError) {
  const TempFolder folder;
  const std::string path = folder.put("a", "0123456789");
  const InputFile file(path);
  std::filesystem::resize_file(path, 4);
  expect_error([&] { read_text(file, 0, 10); }, ErrorCode::corrupt_file, {path, "4 of the 10"});
}

TEST(InputFile, WhatIsNotARegularFileIsNamed) {
  const TempFolder folder;
  expect_error([&] { InputFile(folder.path("none")); }, ErrorCode::io,
               {folder.path("none"), "No such file"});
  expect_error([&] { InputFile(folder.path("")); }, ErrorCode::io, {"a folder"});
  expect_error([&] { InputFile("/dev/null"); }, ErrorCode::io, {"/dev/null", "device"});
  expect_error([&] { InputFile(""); }, ErrorCode::invalid_argument, {"empty"});
  expect_error([&] { InputFile(std::string("a\0b", 3)); }, ErrorCode::invalid_argument,
               {"zero byte at position 1"});
}

TEST(InputFile, PipeWithoutWriterDoesNotWait) {
  const TempFolder folder;
  ASSERT_EQ(::mkfifo(folder.path("pipe").c_str(), 0600), 0);
  expect_error([&] { InputFile(folder.path("pipe")); }, ErrorCode::io, {"pipe"});
}

TEST(OutputFile, TargetAppearsOnCommitOnly) {
  const TempFolder folder;
  {
    OutputFile file(folder.path("a"));
    file.write(bytes_of("new"));
    EXPECT_FALSE(std::filesystem::exists(folder.path("a")));
    file.commit();
  }
  EXPECT_EQ(folder.get("a"), "new");
  EXPECT_EQ(folder.file_count(), 1);
}

TEST(OutputFile, WithoutCommitTheOldFileStaysAndNothingElseDoes) {
  const TempFolder folder;
  folder.put("a", "old");
  {
    OutputFile file(folder.path("a"));
    file.write(bytes_of("new"));
  }
  EXPECT_EQ(folder.get("a"), "old");
  EXPECT_EQ(folder.file_count(), 1);
}

TEST(OutputFile, ReplacingKeepsPermissions) {
  const TempFolder folder;
  std::filesystem::permissions(folder.put("a", "old"), std::filesystem::perms{0640});
  OutputFile file(folder.path("a"));
  file.commit();
  EXPECT_EQ(std::filesystem::status(folder.path("a")).permissions(), std::filesystem::perms{0640});
}

TEST(OutputFile, FollowsASymbolicLink) {
  const TempFolder folder;
  folder.put("real", "old");
  std::filesystem::create_symlink("real", folder.path("link"));
  OutputFile file(folder.path("link"));
  file.write(bytes_of("new"));
  file.commit();
  EXPECT_EQ(folder.get("real"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("link")));
}

TEST(OutputFile, FollowsALinkToWhatIsNotThereYet) {
  const TempFolder folder;
  std::filesystem::create_symlink("second", folder.path("link"));
  std::filesystem::create_symlink("real", folder.path("second"));
  OutputFile file(folder.path("link"));
  file.write("new");
  file.commit();
  EXPECT_EQ(folder.get("real"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("link")));
}

TEST(InputFile, ACancelledOneIsNotReadOn) {
  const TempFolder folder;
  write_matrix(folder.path("a.fbin"), Matrix(DType::f32, 3, 2));
  write_ids(folder.path("a.ibin"), std::vector<std::int64_t>{1, 2}, 1, 2);
  write_truth(folder.path("truth"), std::vector<std::int64_t>{1}, std::vector<float>{1}, 1, 1);
  const CancelToken cancel;
  EXPECT_EQ(read_matrix(folder.path("a.fbin"), {}, cancel).rows(), 3);
  cancel.cancel();
  expect_error([&] { read_matrix(folder.path("a.fbin"), {}, cancel); }, ErrorCode::cancelled,
               {folder.path("a.fbin"), "read"});
  expect_error([&] { read_ids(folder.path("a.ibin"), cancel); }, ErrorCode::cancelled, {"a.ibin"});
  expect_error([&] { read_truth(folder.path("truth"), cancel); }, ErrorCode::cancelled, {"truth"});
}

TEST(OutputFile, CancelledWhileItIsWrittenLeavesTheOldFile) {
  const TempFolder folder;
  folder.put("a", "old");
  const CancelToken cancel;
  {
    OutputFile file(folder.path("a"), cancel);
    file.write("new");
    cancel.cancel();
    expect_error([&] { file.commit(); }, ErrorCode::cancelled, {folder.path("a"), "cancelled"});
  }
  EXPECT_EQ(folder.get("a"), "old");
  EXPECT_EQ(folder.file_count(), 1);
}

TEST(OutputFile, FolderAsTargetIsAnErrorThatLeavesNothing) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.path("sub"));
  expect_error([&] { OutputFile(folder.path("sub")); }, ErrorCode::io,
               {folder.path("sub"), "is a folder"});
  EXPECT_EQ(folder.file_count(), 1);
}

TEST(OutputFile, FailedRenameLeavesNoTemporary) {
  const TempFolder folder;
  {
    OutputFile file(folder.path("a"));
    file.write(bytes_of("new"));
    std::filesystem::create_directory(folder.path("a"));  // after the check at opening
    expect_error([&] { file.commit(); }, ErrorCode::io, {folder.path("a"), "rename"});
  }
  EXPECT_EQ(folder.file_count(), 1);
}

TEST(OutputFile, MissingFolderAndTooLongNameFailAtOpening) {
  const TempFolder folder;
  expect_error([&] { OutputFile(folder.path("none/a")); }, ErrorCode::io,
               {"none/a", "none'", "No such file"});
  expect_error([&] { OutputFile(folder.path(std::string(300, 'a'))); }, ErrorCode::io,
               {"name too long"});
  EXPECT_EQ(folder.file_count(), 0);
}

TEST(OutputFile, LongestNameWorks) {
  const TempFolder folder;
  const std::string name(255, 'a');
  OutputFile file(folder.path(name));
  file.write(bytes_of("new"));
  file.commit();
  EXPECT_EQ(folder.get(name), "new");
}

// Around the size of the buffer, where pieces are kept, flushed or passed through.
TEST(OutputFile, PiecesOfAnySizeArriveInOrder) {
  const TempFolder folder;
  constexpr std::size_t kBuffer = std::size_t{4} << 20;
  std::string expected;
  OutputFile file(folder.path("a"));
  char letter = 'a';
  for (const std::size_t size : {std::size_t{1}, kBuffer - 1, std::size_t{1}, kBuffer,
                                 std::size_t{3}, kBuffer + 1, std::size_t{0}, std::size_t{5}}) {
    const std::string piece(size, letter++);
    file.write(bytes_of(piece));
    expected += piece;
  }
  file.commit();
  EXPECT_TRUE(folder.get("a") == expected);
}

TEST(OutputFile, DevicesAreWrittenDirectly) {
  EXPECT_TRUE(is_stream("/dev/null"));
  EXPECT_TRUE(is_stream("/dev/stdout"));
  OutputFile file("/dev/null");
  file.write(bytes_of("new"));
  file.commit();
  EXPECT_TRUE(is_stream("/dev/null"));
}

TEST(OutputFile, FullDeviceIsAnErrorWithTheReason) {
  if (!is_stream("/dev/full")) {
    GTEST_SKIP() << "no /dev/full here";
  }
  OutputFile file("/dev/full");
  file.write(bytes_of("new"));
  expect_error([&] { file.commit(); }, ErrorCode::io,
               {"/dev/full", "write 3 bytes", "No space left"});
}

TEST(OutputFile, PipeIsWrittenDirectly) {
  const TempFolder folder;
  const std::string pipe = folder.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = folder.get("pipe"); });
  {
    OutputFile file(pipe);
    file.write(bytes_of("through"));
    file.commit();
  }
  reader.join();
  EXPECT_EQ(got, "through");
  EXPECT_EQ(folder.file_count(), 1);
}

}  // namespace
}  // namespace nearfield
