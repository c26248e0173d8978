#include "io/file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <system_error>

#include "core/fail.hpp"

namespace nearfield {
namespace {

constexpr std::size_t kWriteBuffer = std::size_t{4} << 20;

// Linux moves at most 2 GiB - 4 KiB a call and other systems refuse more: never ask for it.
constexpr std::size_t kMostBytesPerCall = std::size_t{1} << 30;

// Takes errno before formatting can change it.
template <class... Args>
[[noreturn]] void fail_errno(const std::string& path, fmt::format_string<Args...> action,
                             Args&&... args) {
  const int error = errno;
  fail(ErrorCode::io, "{}: cannot {}: {}", path, fmt::format(action, std::forward<Args>(args)...),
       std::generic_category().message(error));
}

template <class Call>
auto retry_interrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) {
    result = call();
  }
  return result;
}

// A zero byte would end the name early and reach another file.
void check_name(const std::string& path) {
  if (path.empty()) {
    fail(ErrorCode::invalid_argument, "the name of a file is empty");
  }
  if (const auto zero = path.find('\0'); zero != std::string::npos) {
    fail(ErrorCode::invalid_argument, "{}: the name of the file has a zero byte at position {}",
         path.c_str(), zero);
  }
}

FileDescriptor open_file(const std::string& path, int flags, mode_t mode = 0) {
  return FileDescriptor(
      retry_interrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, mode); }));
}

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) {
    return ".";
  }
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Renaming onto a symbolic link would replace the link, not the file it leads to.
std::string follow_links(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  return real ? std::string(real.get()) : path;
}

// A file system that has nothing to sync says EINVAL.
bool sync(const FileDescriptor& fd) {
  return retry_interrupted([&] { return ::fsync(fd.get()); }) == 0 || errno == EINVAL;
}

// The new name is part of the folder: without this it may be gone after a power cut.
void sync_folder(const std::string& folder) {
  const FileDescriptor fd = open_file(folder, O_RDONLY | O_DIRECTORY);
  if (fd.get() < 0 || !sync(fd)) {
    fail_errno(folder, "flush the folder to disk");
  }
}

}  // namespace

bool FileDescriptor::close() noexcept {
  // Not retried: after EINTR Linux has closed it, and the number may be another thread's by now.
  const int fd = std::exchange(fd_, -1);
  return fd < 0 || ::close(fd) == 0 || errno == EINTR;
}

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  check_name(path_);
  // O_NONBLOCK: opening a pipe would wait for its writer before we could say that it is a pipe.
  fd_ = open_file(path_, O_RDONLY | O_NONBLOCK);
  struct stat status {};
  if (fd_.get() < 0 || ::fstat(fd_.get(), &status) != 0) {
    fail_errno(path_, "open for reading");
  }
  if (!S_ISREG(status.st_mode)) {
    fail(ErrorCode::io, "{}: is {}, not a regular file: its size cannot be checked", path_,
         S_ISDIR(status.st_mode) ? "a folder" : "a device or a pipe");
  }
  size_ = status.st_size;
}

void InputFile::read_at(std::int64_t offset, std::span<std::byte> out) const {
  std::size_t done = 0;
  while (done < out.size()) {
    const auto part = out.subspan(done, std::min(out.size() - done, kMostBytesPerCall));
    const auto position = offset + static_cast<std::int64_t>(done);
    const auto got =
        retry_interrupted([&] { return ::pread(fd_.get(), part.data(), part.size(), position); });
    if (got < 0) {
      fail_errno(path_, "read {} bytes at offset {}", part.size(), position);
    }
    if (got == 0) {
      fail(ErrorCode::corrupt_file,
           "{}: ends after {} of the {} bytes at offset {}; it had {} bytes when it was opened",
           path_, done, out.size(), offset, size_);
    }
    done += static_cast<std::size_t>(got);
  }
}

Mapping InputFile::map() const {
  const auto size = static_cast<std::size_t>(size_);
  void* const data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd_.get(), 0);
  if (data == MAP_FAILED) {
    fail_errno(path_, "map its {} bytes", size);
  }
  return {static_cast<const std::byte*>(data), size};
}

Mapping::~Mapping() {
  if (data_ != nullptr) {
    ::munmap(const_cast<std::byte*>(data_), size_);
  }
}

bool is_stream(const std::string& path) {
  const std::string_view name = path;
  if (name == "/dev/stdout" || name == "/dev/stderr" || name.starts_with("/dev/fd/") ||
      name.starts_with("/proc/self/fd/")) {
    return true;
  }
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  check_name(path_);
  buffer_.reserve(kWriteBuffer);
  if (is_stream(path_)) {
    fd_ = open_file(path_, O_WRONLY | O_APPEND);
    if (fd_.get() < 0) {
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
    fd_ = open_file(name, O_WRONLY | O_CREAT | O_EXCL, 0666);
  } while (fd_.get() < 0 && errno == EEXIST);
  if (fd_.get() < 0) {
    fail_errno(path_, "create a file in folder '{}'", folder);
  }
  temporary_ = std::move(name);
  if (replaces) {
    // The permissions of the old file; keeping them is a courtesy, losing them no error.
    [[maybe_unused]] const int ignored = ::fchmod(fd_.get(), old.st_mode & 0777);
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
    const auto part = bytes.first(std::min(bytes.size(), kMostBytesPerCall));
    const auto put =
        retry_interrupted([&] { return ::write(fd_.get(), part.data(), part.size()); });
    if (put <= 0) {
      fail_errno(path_, "write {} bytes", part.size());
    }
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

void OutputFile::commit() {
  flush();
  if (temporary_.empty()) {
    if (!fd_.close()) {
      fail_errno(path_, "finish writing");
    }
    return;
  }
  if (!sync(fd_) || !fd_.close()) {
    fail_errno(path_, "flush to disk");
  }
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
    fail_errno(path_, "rename '{}' to it", temporary_);
  }
  temporary_.clear();
  sync_folder(folder_of(target_));
}

}  // namespace nearfield
