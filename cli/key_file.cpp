#include "key_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <nearfield/error.hpp>

namespace nearfield::cli {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const {
    if (file != stdin) std::fclose(file);
  }
};

// Standard input by its descriptor: by its name a socket cannot be opened.
std::string read_text(const std::string& path) {
  const bool standard = is_standard_input(path);
  if (standard && std::feof(stdin) != 0) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: was read already: name a file for one of the two", path));
  }
  const std::unique_ptr<std::FILE, CloseFile> file(standard ? stdin
                                                            : std::fopen(path.c_str(), "rb"));
  std::string text;
  std::array<char, 1 << 16> piece;
  std::size_t got = piece.size();
  while (file != nullptr && got == piece.size()) {
    got = std::fread(piece.data(), 1, piece.size(), file.get());
    text.append(piece.data(), got);
  }
  if (file == nullptr || std::ferror(file.get()) != 0) {
    throw Error(ErrorCode::io, fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  }
  return text;
}

void check_line(const std::string& path, std::string_view line, std::size_t number) {
  const char* const wrong = line.empty()          ? "is empty: give each line a byte or more"
                            : line.back() == '\r' ? "ends with a carriage return: convert the file"
                                                  : nullptr;
  if (wrong != nullptr) {
    throw Error(ErrorCode::invalid_argument, fmt::format("{}: line {} {}", path, number, wrong));
  }
}

}  // namespace

bool is_standard_input(const std::string& path) {
  return path == "/dev/stdin" || path == "/dev/fd/0" || path == "/proc/self/fd/0";
}

KeyFile::KeyFile(const std::string& path) : path_(path), text_(read_text(path)) {
  std::string_view left = text_;
  while (!left.empty()) {
    const std::string_view line = left.substr(0, left.find('\n'));
    keys_.push_back(line);
    check_line(path, line, keys_.size());
    left.remove_prefix(std::min(line.size() + 1, left.size()));
  }
}

void KeyFile::check_each_once() const {
  std::vector<std::size_t> lines(keys_.size());
  std::iota(lines.begin(), lines.end(), std::size_t{0});
  std::ranges::sort(lines, [&](std::size_t a, std::size_t b) {
    return std::pair(keys_[a], a) < std::pair(keys_[b], b);
  });
  const auto twice =
      std::ranges::adjacent_find(lines, {}, [&](std::size_t line) { return keys_[line]; });
  if (twice != lines.end()) {
    throw Error(ErrorCode::invalid_argument, fmt::format("{}: lines {} and {} are the same key",
                                                         path_, *twice + 1, *(twice + 1) + 1));
  }
}

}  // namespace nearfield::cli
