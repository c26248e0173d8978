#include "io/growing_file.hpp"

#include <sys/file.h>

#include <algorithm>
#include <cstdio>

#include "io/system_calls.hpp"

namespace nearfield {

GrowingFile::GrowingFile(std::string path, std::string_view header, std::int64_t block_bytes,
                         std::uint64_t identity)
    : path_(std::move(path)), partial_(fmt::format("{}.{:016x}.part", path_, identity)) {
  check_name(path_);
  fd_ = open_file(partial_, O_RDWR | O_CREAT, 0666);
  if (fd_.get() < 0) fail_errno(partial_, "open for writing");
  if (::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) {
    fail(ErrorCode::io, "{}: another process is writing it: let it end", partial_);
  }
  const auto size = static_cast<std::int64_t>(::lseek(fd_.get(), 0, SEEK_END));
  if (size < 0) fail_errno(partial_, "find its end");
  const std::int64_t whole = (size - std::ssize(header)) / block_bytes;
  blocks_ = std::max<std::int64_t>(whole - 1, 0);
  const std::int64_t kept = blocks_ > 0 ? std::ssize(header) + blocks_ * block_bytes : 0;
  if (retry_interrupted([&] { return ::ftruncate(fd_.get(), kept); }) != 0 ||
      ::lseek(fd_.get(), kept, SEEK_SET) != kept) {
    fail_errno(partial_, "cut it after {} bytes", kept);
  }
  if (kept == 0) write(std::as_bytes(std::span(header)));
}

GrowingFile::~GrowingFile() {
  if (!partial_.empty() && blocks_ == 0) ::unlink(partial_.c_str());
}

void GrowingFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), kMostBytesPerCall));
    const auto put =
        retry_interrupted([&] { return ::write(fd_.get(), part.data(), part.size()); });
    if (put <= 0) fail_errno(partial_, "write {} bytes", part.size());
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

void GrowingFile::append(std::span<const std::byte> block) {
  write(block);
  if (!sync(fd_)) fail_errno(partial_, "flush to disk");
  ++blocks_;
}

void GrowingFile::commit() {
  if (!sync(fd_) || !fd_.close()) fail_errno(partial_, "flush to disk");
  if (std::rename(partial_.c_str(), path_.c_str()) != 0) {
    fail_errno(path_, "rename '{}' to it", partial_);
  }
  partial_.clear();
  sync_folder(folder_of(path_));
}

}  // namespace nearfield
