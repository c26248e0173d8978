#include <nearfield/output_file.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>

#include "io/system_calls.hpp"

namespace nearfield {
namespace {

constexpr std::size_t kWriteBuffer = std::size_t{4} << 20;

// Renaming onto a symbolic link would replace the link, not the file it leads to, which need not be
// there yet.
std::string follow_links(std::string path) {
  constexpr int kMostLinks = 40;  // as Linux
  for (int links = 0; links < kMostLinks; ++links) {
    std::error_code error;
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    if (error) break;
    path = target.is_absolute() ? target.string() : folder_of(path) + "/" + target.string();
  }
  return path;
}

}  // namespace

bool is_stream(const std::string& path) {
  const std::string_view name = path;
  if (name == "/dev/stdout" || name == "/dev/stderr" || name.starts_with("/dev/fd/") ||
      name.starts_with("/proc/self/fd/")) {
    return true;
  }
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

OutputFile::OutputFile(std::string path, CancelToken cancel)
    : cancel_(std::move(cancel)), path_(std::move(path)), fd_(std::make_unique<FileDescriptor>()) {
  check_name(path_);
  buffer_.reserve(kWriteBuffer);
  if (is_stream(path_)) {
    *fd_ = open_file(path_, O_WRONLY | O_APPEND);
    if (fd_->get() < 0) {
      fail_errno(path_, "open for writing");
    }
    return;
  }
  target_ = follow_links(path_);
  open_temporary();
}

void OutputFile::open_temporary() {
  struct stat old {};
  const bool replaces = ::stat(target_.c_str(), &old) == 0;
  if (!replaces && errno != ENOENT) {
    fail_errno(path_, "write");
  }
  if (replaces && S_ISDIR(old.st_mode)) {
    fail(ErrorCode::io, "{}: is a folder, not a file", path_);
  }
  // Renaming asks only the folder; a file made read-only is meant to stay.
  if (replaces && ::access(target_.c_str(), W_OK) != 0) {
    fail_errno(path_, "replace the file");
  }

  // Not the target's name with an ending: that may be too long. A name left behind by a process
  // that was killed, or taken by another machine on the same disk, is skipped.
  static std::atomic<std::uint64_t> counter{0};
  const std::string folder = folder_of(target_);
  std::string name;
  do {
    name = fmt::format("{}/.nearfield.{}.{}.tmp", folder, ::getpid(), counter.fetch_add(1));
    *fd_ = open_file(name, O_WRONLY | O_CREAT | O_EXCL, 0666);
  } while (fd_->get() < 0 && errno == EEXIST);
  if (fd_->get() < 0) {
    fail_errno(path_, "create a file in folder '{}'", folder);
  }
  temporary_ = std::move(name);
  if (replaces) {
    // The permissions of the old file; keeping them is a courtesy, losing them no error.
    [[maybe_unused]] const int ignored = ::fchmod(fd_->get(), old.st_mode & 0777);
  }
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) {
    ::unlink(temporary_.c_str());
  }
}

void OutputFile::write(std::span<const std::byte> bytes) {
  if (bytes.size() > kWriteBuffer - buffer_.size()) {
    flush();
  }
  if (bytes.size() >= kWriteBuffer) {
    write_through(bytes);
  } else {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }
}

void OutputFile::flush() {
  write_through(buffer_);
  buffer_.clear();
}

void OutputFile::write_through(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (cancel_.cancelled()) {
      fail(ErrorCode::cancelled, "{}: cancelled while it was written", path_);
    }
    const auto part = bytes.first(std::min(bytes.size(), kMostBytesPerCall));
    const auto put =
        retry_interrupted([&] { return ::write(fd_->get(), part.data(), part.size()); });
    if (put <= 0) {
      fail_errno(path_, "write {} bytes", part.size());
    }
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

void OutputFile::commit() {
  flush();
  if (temporary_.empty()) {
    if (!fd_->close()) {
      fail_errno(path_, "finish writing");
    }
    return;
  }
  if (!sync(*fd_) || !fd_->close()) {
    fail_errno(path_, "flush to disk");
  }
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
    fail_errno(path_, "rename '{}' to it", temporary_);
  }
  temporary_.clear();
  sync_folder(folder_of(target_));
}

}  // namespace nearfield
