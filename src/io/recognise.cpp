#include "io/recognise.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace nearfield {
namespace {

constexpr std::string_view kLfsPointer = "version https://git-lfs.github.com/spec";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// "<!DOCTYPE", "<html", "<?xml", after what browsers skip too.
bool is_markup(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  return text.size() >= 2 && text[0] == '<' &&
         (text[1] == '!' || text[1] == '?' || is_letter(text[1]));
}

}  // namespace

std::optional<std::string_view> recognise(const InputFile& file) {
  std::array<char, 64> start{};
  const auto size =
      static_cast<std::size_t>(std::min(file.size(), static_cast<std::int64_t>(start.size())));
  file.read_at(0, std::as_writable_bytes(std::span(start).first(size)));
  const std::string_view text(start.data(), size);
  if (text.starts_with(kLfsPointer)) {
    return "is a git-lfs pointer, not the data: run git lfs pull";
  }
  if (is_markup(text)) {
    return "is an HTML or XML page, not the data: the download brought a login or error page; "
           "fetch the file again";
  }
  return std::nullopt;
}

}  // namespace nearfield
