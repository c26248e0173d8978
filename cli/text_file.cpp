#include "text_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nearfield/error.hpp>

#include "interrupt.hpp"
#include "output_path.hpp"

namespace nearfield::cli {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

// A file system that has nothing to sync says EINVAL.
bool sync(int fd) { return ::fsync(fd) == 0 || errno == EINVAL; }

// The new name is part of the folder: without this it may be gone after a power cut.
bool sync_folder(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = fd >= 0 && sync(fd);
  if (fd >= 0) {
    ::close(fd);
  }
  return synced;
}

std::string folder_of(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

}  // namespace

TextFile::TextFile(std::string path) : path_(std::move(path)) {
  buffer_.reserve(kBufferBytes);
  if (is_stream(path_)) {
    fd_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd_ < 0) {
      fail("open for writing");
    }
    return;
  }
  target_ = std::filesystem::weakly_canonical(std::filesystem::absolute(path_)).string();
  open_temporary();
}

TextFile::~TextFile() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
  if (!temporary_.empty()) {
    ::unlink(temporary_.c_str());
  }
}

void TextFile::open_temporary() {
  // A name left behind by a process that was killed is skipped.
  for (int i = 0; fd_ < 0; ++i) {
    temporary_ = fmt::format("{}/.nearfield.{}.text{}.tmp", folder_of(target_), ::getpid(), i);
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0 && errno != EEXIST) {
      temporary_.clear();
      fail("create a file in its folder");
    }
  }
  struct stat old {};
  if (::stat(target_.c_str(), &old) == 0) {
    // The permissions of the old file; keeping them is a courtesy, losing them no error.
    [[maybe_unused]] const int ignored = ::fchmod(fd_, old.st_mode & 0777);
  }
}

void TextFile::write(std::string_view text) {
  buffer_ += text;
  if (buffer_.size() >= kBufferBytes) {
    flush();
  }
}

void TextFile::flush() {
  if (interrupted()) {
    throw Error(ErrorCode::cancelled, fmt::format("{}: cancelled while it was written", path_));
  }
  std::string_view left = buffer_;
  while (!left.empty()) {
    const ssize_t written = ::write(fd_, left.data(), left.size());
    if (written < 0 && errno != EINTR) {
      fail("write");
    }
    left.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
  }
  buffer_.clear();
}

void TextFile::commit() {
  flush();
  const bool stream = target_.empty();
  if (!stream && !sync(fd_)) {
    fail("flush to disk");
  }
  if (::close(std::exchange(fd_, -1)) != 0 && errno != EINTR) {
    fail("close");
  }
  if (stream) {
    return;
  }
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) {
    fail("put into place");
  }
  temporary_.clear();
  if (!sync_folder(folder_of(target_))) {
    fail("flush its folder to disk");
  }
}

void TextFile::fail(std::string_view action) const {
  const int error = errno;  // before formatting can change it
  throw Error(ErrorCode::io, fmt::format("{}: cannot {}: {}", path_, action,
                                         std::generic_category().message(error)));
}

}  // namespace nearfield::cli
