// Calls of the operating system, with errors that name the file.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/fail.hpp"
#include "io/file.hpp"

namespace nearfield {

// Some ten milliseconds on a disk: between two looks at a cancel token. Far below the 2 GiB - 4 KiB
// that Linux moves at most in a call.
inline constexpr std::size_t kMostBytesPerCall = std::size_t{16} << 20;

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
inline void check_name(const std::string& path) {
  if (path.empty()) {
    fail(ErrorCode::invalid_argument, "the name of a file is empty");
  }
  if (const auto zero = path.find('\0'); zero != std::string::npos) {
    fail(ErrorCode::invalid_argument, "{}: the name of the file has a zero byte at position {}",
         path.c_str(), zero);
  }
}

inline FileDescriptor open_file(const std::string& path, int flags, mode_t mode = 0) {
  return FileDescriptor(
      retry_interrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, mode); }));
}

// What a path names that is open in this process already: /dev/stdout, /dev/fd/3.
inline std::optional<int> own_descriptor(std::string_view path) {
  constexpr std::array<std::pair<std::string_view, int>, 3> kStandard{
      {{"/dev/stdin", 0}, {"/dev/stdout", 1}, {"/dev/stderr", 2}}};
  for (const auto& [name, number] : kStandard) {
    if (path == name) return number;
  }
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    const std::string_view text = path.substr(folder.size());
    int number = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && stop == text.data() + text.size()) return number;
  }
  return std::nullopt;
}

// A descriptor of ours is copied. Opened by its name it would begin at its own place in a file,
// over what others have written there, and a socket cannot be opened at all.
inline FileDescriptor open_stream(const std::string& path) {
  const std::optional<int> own = own_descriptor(path);
  if (!own) return open_file(path, O_WRONLY | O_APPEND);
  constexpr int kLeast = 3;  // never one of the standard ones, were it closed
  return FileDescriptor(retry_interrupted([&] { return ::fcntl(*own, F_DUPFD_CLOEXEC, kLeast); }));
}

inline std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) {
    return ".";
  }
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Renaming onto a symbolic link would replace the link, not the file it leads to, which need not be
// there yet.
inline std::string follow_links(std::string path) {
  constexpr int kMostLinks = 40;  // as Linux
  for (int links = 0; links < kMostLinks; ++links) {
    std::error_code error;
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    if (error) break;
    path = target.is_absolute() ? target.string() : folder_of(path) + "/" + target.string();
  }
  return path;
}

// Of a file that is to be replaced: its permissions, or nothing if there is none. `named`: by whom.
inline std::optional<mode_t> mode_of_replaced(const std::string& target, const std::string& named) {
  struct stat old {};
  if (::stat(target.c_str(), &old) != 0) {
    if (errno != ENOENT) fail_errno(named, "write");
    return std::nullopt;
  }
  if (S_ISDIR(old.st_mode)) fail(ErrorCode::io, "{}: is a folder, not a file", named);
  // Renaming asks only the folder; a file made read-only is meant to stay.
  if (::access(target.c_str(), W_OK) != 0) fail_errno(named, "replace the file");
  return old.st_mode & 0777;
}

// Some of the bytes: how many. None only of a stream that does not block and was full all the
// while, as one that another process has set so: who writes looks at cancel, and tries again.
inline std::size_t write_some(const FileDescriptor& fd, std::span<const std::byte> bytes,
                              const std::string& named) {
  const std::size_t count = std::min(bytes.size(), kMostBytesPerCall);
  const auto put = retry_interrupted([&] { return ::write(fd.get(), bytes.data(), count); });
  if (put < 0 && errno == EAGAIN) {
    constexpr int kMilliseconds = 100;
    pollfd full{fd.get(), POLLOUT, 0};
    ::poll(&full, 1, kMilliseconds);
    return 0;
  }
  if (put <= 0) fail_errno(named, "write {} bytes", count);
  return static_cast<std::size_t>(put);
}

// A file system that has nothing to sync says EINVAL.
inline bool sync(const FileDescriptor& fd) {
  return retry_interrupted([&] { return ::fsync(fd.get()); }) == 0 || errno == EINVAL;
}

// The new name is part of the folder: without this it may be gone after a power cut.
inline void sync_folder(const std::string& folder) {
  const FileDescriptor fd = open_file(folder, O_RDONLY | O_DIRECTORY);
  if (fd.get() < 0 || !sync(fd)) {
    fail_errno(folder, "flush the folder to disk");
  }
}

}  // namespace nearfield
