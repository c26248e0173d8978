#include "code_lines.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <nearfield/error.hpp>

#include "interrupt.hpp"

namespace nearfield::cli {
namespace {

constexpr std::int64_t kLinesBetweenLooks = 1 << 14;
constexpr std::string_view kBehindCode = ", \t";

// -1: none.
int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Of both alphabets, that of files and that of addresses.
int base64_value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+' || c == '-') return 62;
  if (c == '/' || c == '_') return 63;
  return -1;
}

std::string_view without_padding(std::string_view code) {
  const std::size_t last = code.find_last_not_of('=');
  return code.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

// The digits of each character, the first ones first, in bytes. False: a character is none.
template <class ValueOf>
bool append_digits(std::string_view code, int bits_each, const ValueOf& value_of,
                   std::vector<std::uint8_t>& out) {
  unsigned held = 0;
  int count = 0;
  for (const char c : code) {
    const int value = value_of(c);
    if (value < 0) return false;
    held = held << bits_each | static_cast<unsigned>(value);
    count += bits_each;
    if (count >= 8) {
      count -= 8;
      out.push_back(static_cast<std::uint8_t>(held >> count));
    }
  }
  // An odd digit of hex; of base64 what is left are zeros, or bits that nobody meant.
  if (count == 4 && bits_each == 4) out.push_back(static_cast<std::uint8_t>(held & 15));
  return true;
}

}  // namespace

CodeText parse_code_text(std::string_view name) {
  if (name == "hex") return CodeText::hex;
  if (name == "base64") return CodeText::base64;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("'{}' is no way to write a code: hex or base64", name));
}

CodeLines::CodeLines(const std::string& path, CodeText text, std::int64_t bits, Context& context)
    : path_(path), bits_(bits) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  while (std::getline(file, line)) {
    if (rows_ % kLinesBetweenLooks == 0) {
      stop_if_interrupted(path);
      if (context.memory_limit && held() > *context.memory_limit) {
        throw Error(ErrorCode::memory_limit,
                    fmt::format("{}: {} lines take {} bytes in memory, the memory limit is {}: "
                                "raise it, or make it a .u8bin",
                                path, rows_, held(), *context.memory_limit));
      }
    }
    if (!line.empty() && line.back() == '\r') line.pop_back();
    take(line, text);
  }
  if (!file.eof()) {
    throw Error(ErrorCode::io, fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  }
  if (context.memory_limit) {
    *context.memory_limit = std::max<std::int64_t>(*context.memory_limit - held(), 0);
  }
}

MatrixView CodeLines::view() const {
  return MatrixView::bits(codes_.data(), rows_, std::max<std::int64_t>(bits_, 1));
}

std::string CodeLines::key(std::int64_t row) const {
  const auto at = static_cast<std::size_t>(row);
  const std::int64_t begin = at > 0 ? key_ends_[at - 1] : 0;
  return keys_.substr(static_cast<std::size_t>(begin),
                      static_cast<std::size_t>(key_ends_[at] - begin));
}

void CodeLines::take(std::string_view line, CodeText text) {
  const std::string_view code = line.substr(0, line.find_first_of(kBehindCode));
  take_code(code, text);
  line.remove_prefix(code.size());
  line.remove_prefix(std::min(line.find_first_not_of(kBehindCode), line.size()));
  keys_ += line;
  key_ends_.push_back(std::ssize(keys_));
  ++rows_;
}

void CodeLines::take_code(std::string_view code, CodeText text) {
  const bool hex = text == CodeText::hex;
  if (hex && code.starts_with("0x")) code.remove_prefix(2);
  if (!hex) code = without_padding(code);
  const auto digits = static_cast<std::int64_t>(code.size());
  const std::int64_t bits = hex ? 4 * digits : 6 * digits / 8 * 8;
  if (bits == 0) fail_line("has no code");
  if (bits_ == 0) bits_ = bits;
  if (bits != bits_) fail_line(fmt::format("has a code of {} bits, expected {}", bits, bits_));
  if (bits > kMaxCols) {
    fail_line(fmt::format("has a code of {} bits, the most are {}", bits, kMaxCols));
  }
  const bool read = hex ? append_digits(code, 4, hex_value, codes_)
                        : append_digits(code, 6, base64_value, codes_);
  if (!read) fail_line(fmt::format("has a code that is not {}", hex ? "hex" : "base64"));
}

void CodeLines::fail_line(const std::string& why) const {
  throw Error(ErrorCode::invalid_argument, fmt::format("{}: line {} {}", path_, rows_ + 1, why));
}

std::int64_t CodeLines::held() const {
  return static_cast<std::int64_t>(codes_.capacity() + keys_.capacity() +
                                   key_ends_.capacity() * sizeof(std::int64_t));
}

}  // namespace nearfield::cli
