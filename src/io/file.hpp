// Files of the operating system: reading at an offset, and mapping.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nearfield/context.hpp>

namespace nearfield {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() { close(); }

  int get() const { return fd_; }

  // False, with errno, if the system reports at closing that an earlier write was lost.
  bool close() noexcept;

 private:
  int fd_ = -1;
};

// The bytes of a file, read-only, in memory as they are touched. If the file becomes shorter,
// touching what is gone ends the process with SIGBUS.
class Mapping {
 public:
  Mapping(const std::byte* data, std::size_t size) : data_(data), size_(size) {}
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Mapping();

  const std::byte* data() const { return data_; }

 private:
  const std::byte* data_;
  std::size_t size_;
};

// A regular file, whose size was taken when it was opened.
class InputFile {
 public:
  // The token ends a read with ErrorCode::cancelled.
  explicit InputFile(std::string path, CancelToken cancel = {});

  const std::string& path() const { return path_; }
  std::int64_t size() const { return size_; }

  // Fills `out`, or throws. Safe from several threads at once.
  void read_at(std::int64_t offset, std::span<std::byte> out) const;

  // All of it, which must be at least a byte. Outlives this.
  Mapping map() const;

 private:
  std::string path_;
  CancelToken cancel_;
  FileDescriptor fd_;
  std::int64_t size_ = 0;
};

}  // namespace nearfield
