#include "io/growing_file.hpp"

#include <sys/file.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include <nearfield/output_file.hpp>

#include "io/system_calls.hpp"

namespace nearfield {

namespace {

// Of a file that another process has put in its place or removed meanwhile, the lock is worth
// nothing: then it is opened again.
FileDescriptor open_locked(const std::string& path) {
  for (;;) {
    FileDescriptor fd = open_file(path, O_RDWR | O_CREAT, 0666);
    if (fd.get() < 0) fail_errno(path, "open for writing");
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      fail(ErrorCode::io, "{}: another process is writing it: let it end", path);
    }
    struct stat locked {};
    struct stat named {};
    if (::fstat(fd.get(), &locked) == 0 && ::stat(path.c_str(), &named) == 0 &&
        locked.st_ino == named.st_ino && locked.st_dev == named.st_dev) {
      return fd;
    }
  }
}

}  // namespace

GrowingFile::GrowingFile(std::string path, std::string_view header, std::int64_t block_bytes,
                         std::uint64_t identity) {
  check_name(path);
  if (is_stream(path)) {
    fail(ErrorCode::unsupported,
         "{}: is a device or a pipe: name a file, which can be gone on with", path);
  }
  path_ = follow_links(std::move(path));
  mode_of_replaced(path_, path_);
  partial_ = fmt::format("{}.{:016x}.part", path_, identity);
  fd_ = open_locked(partial_);
  const auto size = static_cast<std::int64_t>(::lseek(fd_.get(), 0, SEEK_END));
  if (size < 0) fail_errno(partial_, "find its end");
  const std::int64_t whole = (size - std::ssize(header)) / block_bytes;
  blocks_ = std::max<std::int64_t>(whole - 1, 0);
  const std::int64_t kept = blocks_ > 0 ? std::ssize(header) + blocks_ * block_bytes : 0;
  if (retry_interrupted([&] { return ::ftruncate(fd_.get(), kept); }) != 0 ||
      ::lseek(fd_.get(), kept, SEEK_SET) != kept) {
    fail_errno(partial_, "cut it after {} bytes", kept);
  }
  if (kept > 0) return;
  write(std::as_bytes(std::span(header)));
  sync_folder(
      folder_of(partial_));  // else its name may be gone after a power cut, and with it blocks
}

GrowingFile::~GrowingFile() {
  if (!partial_.empty() && blocks_ == 0) ::unlink(partial_.c_str());
}

void GrowingFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) bytes = bytes.subspan(write_some(fd_, bytes, partial_));
}

void GrowingFile::append(std::span<const std::byte> block) {
  write(block);
  if (!sync(fd_)) fail_errno(partial_, "flush to disk");
  ++blocks_;
}

void GrowingFile::remove() {
  if (::unlink(partial_.c_str()) != 0) fail_errno(partial_, "remove");
  partial_.clear();
}

void GrowingFile::commit() {
  if (!sync(fd_)) fail_errno(partial_, "flush to disk");
  if (std::rename(partial_.c_str(), path_.c_str()) != 0) {
    fail_errno(path_, "rename '{}' to it", partial_);
  }
  partial_.clear();
  // After the renaming: who waits for the lock would cut what is being put in its place.
  if (!fd_.close()) fail_errno(path_, "finish writing");
  sync_folder(folder_of(path_));
}

}  // namespace nearfield
