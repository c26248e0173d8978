#include <nearfield/error.hpp>

#include "core/fail.hpp"

namespace nearfield {

std::string without_control_characters(const std::string& text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::not_finite:
      return "not_finite";
    case ErrorCode::memory_limit:
      return "memory_limit";
    case ErrorCode::cancelled:
      return "cancelled";
    case ErrorCode::deadline_exceeded:
      return "deadline_exceeded";
    case ErrorCode::io:
      return "io";
    case ErrorCode::corrupt_file:
      return "corrupt_file";
  }
  return "unknown";
}

}  // namespace nearfield
