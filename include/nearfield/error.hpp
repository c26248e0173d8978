// The one exception type of the library.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace nearfield {

enum class ErrorCode {
  invalid_argument,   // a value, shape or combination that can never work
  unsupported,        // valid, but not built for this metric, type, ISA or device
  not_finite,         // check_finite found a NaN or an infinity
  memory_limit,       // the work cannot be cut small enough for the memory limit
  cancelled,          // the cancel token was set
  deadline_exceeded,  // the deadline passed
  io,                 // the operating system refused to read or write
  corrupt_file,       // a file is not what it says it is
};

std::string_view to_string(ErrorCode code);

// The message is one sentence that holds the numbers: what was given, what was expected, what to
// do. The library never prints, aborts or exits.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}

  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace nearfield
