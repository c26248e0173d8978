#include "io/npy_header.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "core/fail.hpp"

namespace nearfield {
namespace {

bool is_printable(char c) { return c >= ' ' && c <= '~'; }

class Parser {
 public:
  Parser(const std::string& path, std::string_view text) : path_(path), text_(text) {}

  NpyHeader parse() {
    NpyHeader header;
    bool has_descr = false;
    bool has_order = false;
    bool has_shape = false;
    expect("{");
    while (!accept("}")) {
      const std::size_t key_at = skip_space();
      const std::string key = string();
      expect(":");
      if (key == "descr") {
        once(has_descr, key, key_at);
        header.descr = descr();
      } else if (key == "fortran_order") {
        once(has_order, key, key_at);
        header.fortran_order = boolean();
      } else if (key == "shape") {
        once(has_shape, key, key_at);
        header.shape = shape();
      } else {
        fail(ErrorCode::corrupt_file,
             "{}: the header has the key '{}' at byte {}, expected descr, fortran_order and shape: "
             "save it again with numpy.save",
             path_, key, key_at);
      }
      if (!accept(",")) {
        expect("}");
        break;
      }
    }
    if (skip_space() != text_.size()) {
      unexpected("its end");
    }
    require(has_descr, "descr");
    require(has_order, "fortran_order");
    require(has_shape, "shape");
    return header;
  }

 private:
  std::size_t skip_space() {
    at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
    return at_;
  }

  bool accept(std::string_view token) {
    skip_space();
    if (!text_.substr(at_).starts_with(token)) {
      return false;
    }
    at_ += token.size();
    return true;
  }

  void expect(std::string_view token) {
    if (!accept(token)) {
      unexpected(fmt::format("'{}'", token));
    }
  }

  std::string string() {
    const bool single = accept("'");
    if (!single && !accept("\"")) {
      unexpected("a text in quotes");
    }
    const char quote = single ? '\'' : '"';
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_printable(text_[at_]) && text_[at_] != '\\') {
      if (text_[at_] == quote) {
        return std::string(text_.substr(begin, at_++ - begin));
      }
      ++at_;
    }
    unexpected("the end of a text");
  }

  std::string descr() {
    if (accept("[")) {
      fail(ErrorCode::unsupported,
           "{}: the descr in the header, at byte {}, is a list of fields, expected one type: save "
           "one field as an array",
           path_, at_ - 1);
    }
    return string();
  }

  bool boolean() {
    if (accept("True")) {
      return true;
    }
    expect("False");
    return false;
  }

  // "()", "(3,)", "(3, 4)"; "(3)" is a number in Python.
  std::vector<std::int64_t> shape() {
    std::vector<std::int64_t> dimensions;
    expect("(");
    while (!accept(")")) {
      dimensions.push_back(dimension());
      if (!accept(",")) {
        if (dimensions.size() == 1) {
          unexpected("','");
        }
        expect(")");
        break;
      }
    }
    return dimensions;
  }

  std::int64_t dimension() {
    const std::string_view rest = text_.substr(skip_space());
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error == std::errc::result_out_of_range) {
      fail(ErrorCode::corrupt_file,
           "{}: the shape in the header has a number at byte {} that does not fit 63 bits: save it "
           "again with numpy.save",
           path_, at_);
    }
    if (error != std::errc() || rest.front() == '-') {
      unexpected("a number, 0 or more");
    }
    at_ += static_cast<std::size_t>(end - rest.data());
    return value;
  }

  void once(bool& has, std::string_view key, std::size_t key_at) {
    if (has) {
      fail(ErrorCode::corrupt_file,
           "{}: the header has the key '{}' twice, the second at byte {}, expected it once: save "
           "it again with numpy.save",
           path_, key, key_at);
    }
    has = true;
  }

  void require(bool has, std::string_view key) const {
    if (!has) {
      fail(ErrorCode::corrupt_file,
           "{}: the header of {} bytes has no key '{}': save it again with numpy.save", path_,
           text_.size(), key);
    }
  }

  [[noreturn]] void unexpected(std::string_view expected) const {
    const std::string found =
        at_ == text_.size() ? "ends"
        : is_printable(text_[at_])
            ? fmt::format("has '{}'", text_[at_])
            : fmt::format("has the byte 0x{:02X}", static_cast<unsigned char>(text_[at_]));
    fail(ErrorCode::corrupt_file,
         "{}: the header of {} bytes {} at byte {}, expected {}: save it again with numpy.save",
         path_, text_.size(), found, at_, expected);
  }

  const std::string& path_;
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

NpyHeader parse_npy_header(const std::string& path, std::string_view text) {
  return Parser(path, text).parse();
}

}  // namespace nearfield
