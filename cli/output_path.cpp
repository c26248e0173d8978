#include "output_path.hpp"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nearfield/error.hpp>

namespace nearfield::cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_io(const std::string& path, const std::string& why) {
  throw Error(ErrorCode::io, fmt::format("{}: {}", path, why));
}

// As in write_matrix: a device, a pipe or an open descriptor has no ending and no folder of ours.
bool is_stream(const std::string& path, fs::file_type type) {
  return path == "/dev/stdout" || path == "/dev/stderr" || path.starts_with("/dev/fd/") ||
         path.starts_with("/proc/self/fd/") ||
         (type != fs::file_type::regular && type != fs::file_type::directory &&
          type != fs::file_type::not_found && type != fs::file_type::none);
}

void check_writable(const std::string& path, const fs::path& place) {
  if (::access(place.c_str(), W_OK) != 0) {
    const std::string reason = std::generic_category().message(errno);
    fail_io(path, fmt::format("cannot write to '{}': {}", place.string(), reason));
  }
}

}  // namespace

void check_output(const std::string& option, const std::string& path, std::string_view ending,
                  std::span<const std::string> inputs) {
  std::error_code ignored;
  const fs::file_type type = fs::status(path, ignored).type();
  if (is_stream(path, type)) {
    return;
  }
  if (!path.ends_with(ending)) {
    throw CLI::ValidationError(option, fmt::format("'{}' must end in {}", path, ending));
  }
  if (type == fs::file_type::directory) {
    fail_io(path, "is a folder, not a file");
  }
  for (const std::string& input : inputs) {
    if (fs::equivalent(path, input, ignored)) {
      throw CLI::ValidationError(option,
                                 fmt::format("'{}' would replace the input '{}'", path, input));
    }
  }
  if (type == fs::file_type::regular) {
    check_writable(path, path);
  }
  // The folder of the file itself, where a symbolic link leads to it.
  const fs::path folder = fs::weakly_canonical(fs::absolute(path), ignored).parent_path();
  check_writable(path, folder);
}

}  // namespace nearfield::cli
