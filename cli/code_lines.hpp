// Binary codes as text: one on each line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nearfield/context.hpp>
#include <nearfield/matrix.hpp>

namespace nearfield::cli {

enum class CodeText { hex, base64 };

CodeText parse_code_text(std::string_view name);

// All lines of a file. Behind a code, after a comma, a blank or a tab, may follow a key: whatever
// names it, to the end of the line.
class CodeLines {
 public:
  // bits: of each code, 0 for those of the first. What is read is taken off the memory limit.
  CodeLines(const std::string& path, CodeText text, std::int64_t bits, Context& context);

  // Looks at the lines. A digit of hex is the four next bits; their order means nothing to a count
  // of those that differ.
  MatrixView view() const;

  bool has_keys() const { return !keys_.empty(); }
  std::string key(std::int64_t row) const;

 private:
  void take(std::string_view line, CodeText text);
  void take_code(std::string_view code, CodeText text);
  [[noreturn]] void fail_line(const std::string& why) const;
  std::int64_t held() const;

  std::string path_;
  std::int64_t bits_;
  std::int64_t rows_ = 0;
  std::vector<std::uint8_t> codes_;
  std::string keys_;                    // one after the other
  std::vector<std::int64_t> key_ends_;  // of each
};

}  // namespace nearfield::cli
