#include <nearfield/error.hpp>

namespace nearfield {

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
