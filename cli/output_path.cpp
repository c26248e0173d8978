#include "output_path.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nearfield/error.hpp>
#include <nearfield/output_file.hpp>

#include "vector_files.hpp"

namespace nearfield::cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_io(const std::string& path, const std::string& why) {
  throw Error(ErrorCode::io, fmt::format("{}: {}", path, why));
}

void check_writable(const std::string& path, const fs::path& place) {
  if (::access(place.c_str(), W_OK) != 0) {
    const std::string reason = std::generic_category().message(errno);
    fail_io(path, fmt::format("cannot write to '{}': {}", place.string(), reason));
  }
}

// Where symbolic links lead, whether or not the file is there. Where that cannot be known, nowhere:
// whoever opens the file says why.
fs::path real_path(const std::string& path) {
  std::error_code ignored;
  return fs::weakly_canonical(fs::absolute(path, ignored), ignored);
}

// fs::equivalent knows hard links too, but no pipes and devices.
bool same_place(const std::string& a, const std::string& b) {
  struct stat of_a {};
  struct stat of_b {};
  if (::stat(a.c_str(), &of_a) == 0 && ::stat(b.c_str(), &of_b) == 0) {
    return of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
  }
  const fs::path real = real_path(a);
  return !real.empty() && real == real_path(b);
}

// What is thrown away may be thrown away together.
bool collide(const OutputPath& a, const OutputPath& b) {
  return a.given() && same_file(a.path, b.path) && !same_file(a.path, "/dev/null");
}

void check_ending(const OutputPath& output) {
  const auto has = [&](std::string_view ending) { return output.ends_in(ending); };
  if (output.endings.empty() || is_hdf5(output.path)) {
    return;  // any name, or a dataset
  }
  if (std::ranges::none_of(output.endings, has)) {
    throw CLI::ValidationError(output.option, fmt::format("'{}' must end in {}", output.path,
                                                          fmt::join(output.endings, " or ")));
  }
}

void check_output_path(const OutputPath& output, std::span<const std::string> inputs) {
  const std::string& path = output.path;
  if (is_stream(path)) {  // no ending, and no folder of ours
    return;
  }
  check_ending(output);
  std::error_code error;
  const std::string file = file_of(path);
  const fs::file_type type = fs::status(file, error).type();
  if (error && type != fs::file_type::not_found) {
    fail_io(path, fmt::format("cannot be written: {}", error.message()));
  }
  if (type == fs::file_type::directory) {
    fail_io(path, "is a folder, not a file");
  }
  for (const std::string& input : inputs) {
    if (!input.empty() && same_file(path, input)) {
      throw CLI::ValidationError(output.option,
                                 fmt::format("'{}' would replace the input '{}'", path, input));
    }
  }
  if (type == fs::file_type::regular) {
    check_writable(path, file);
  }
  check_writable(path, real_path(file).parent_path());
  check_can_add(path);
}

}  // namespace

bool OutputPath::ends_in(std::string_view ending) const {
  return !is_hdf5(path) && path.ends_with(ending);
}

bool same_file(const std::string& a, const std::string& b) {
  const std::string file_a = file_of(a);
  const std::string file_b = file_of(b);
  return a.substr(file_a.size()) == b.substr(file_b.size()) && same_place(file_a, file_b);
}

void check_json_alone(const OutputPath& output) {
  const std::string& path = output.path;
  if (path != "/dev/stdout" && path != "/dev/fd/1" && path != "/proc/self/fd/1") return;
  throw CLI::ValidationError(
      output.option, fmt::format("'{}' is where --json prints; write one of them to a file", path));
}

void check_output_paths(std::span<const OutputPath> outputs, std::span<const std::string> inputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].given()) {
      continue;
    }
    check_output_path(outputs[i], inputs);
    for (const OutputPath& earlier : outputs.first(i)) {
      if (collide(earlier, outputs[i])) {
        throw CLI::ValidationError(outputs[i].option,
                                   fmt::format("'{}' is also the file of {}; each needs its own",
                                               outputs[i].path, earlier.option));
      }
    }
  }
}

}  // namespace nearfield::cli
