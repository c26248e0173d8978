#include "io/file.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>

#include "io/system_calls.hpp"

namespace nearfield {

bool FileDescriptor::close() noexcept {
  // Not retried: after EINTR Linux has closed it, and the number may be another thread's by now.
  const int fd = std::exchange(fd_, -1);
  return fd < 0 || ::close(fd) == 0 || errno == EINTR;
}

InputFile::InputFile(std::string path, CancelToken cancel)
    : path_(std::move(path)), cancel_(std::move(cancel)) {
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
    if (cancel_.cancelled()) {
      fail(ErrorCode::cancelled, "{}: cancelled while it was read", path_);
    }
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

}  // namespace nearfield
