#include <nearfield/output_file.hpp>

#include <sys/stat.h>

#include <atomic>
#include <memory>
#include <optional>

#include "io/system_calls.hpp"

namespace nearfield {
namespace {

constexpr std::size_t kWriteBuffer = std::size_t{4} << 20;

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
    *fd_ = open_stream(path_);
    if (fd_->get() < 0) {
      fail_errno(path_, "open for writing");
    }
    return;
  }
  target_ = follow_links(path_);
  open_temporary();
}

void OutputFile::open_temporary() {
  const std::optional<mode_t> old = mode_of_replaced(target_, path_);

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
  if (old) {
    // The permissions of the old file; keeping them is a courtesy, losing them no error.
    [[maybe_unused]] const int ignored = ::fchmod(fd_->get(), *old);
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
    bytes = bytes.subspan(write_some(*fd_, bytes, path_));
  }
}

void OutputFile::rewrite_start(std::string_view text) {
  flush();
  if (::lseek(fd_->get(), 0, SEEK_SET) != 0) fail_errno(path_, "go to its start");
  write_through(std::as_bytes(std::span(text)));
  if (::lseek(fd_->get(), 0, SEEK_END) < 0) fail_errno(path_, "go to its end");
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
