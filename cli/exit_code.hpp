// What the command tells its caller.
#pragma once

#include <stdexcept>
#include <string_view>

#include <nearfield/error.hpp>

namespace nearfield::cli {

enum ExitCode : int {
  kDone = 0,
  kFailed = 1,
  kUsage = 2,
  kDeadline = 3,
  kMemoryLimit = 4,
  kBelowTarget = 5,
  kCancelled = 130,  // what a shell reports after Ctrl-C; here after SIGTERM and SIGHUP too
};

inline constexpr std::string_view kExitCodeHelp =
    "Exit codes: 0 done, 1 error of input or system, 2 usage, 3 deadline passed, 4 memory limit, "
    "5 recall below --at-least, 130 cancelled.";

// All went well, and the result is not as good as was asked for.
class BelowTarget : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline ExitCode exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::cancelled:
      return kCancelled;
    case ErrorCode::deadline_exceeded:
      return kDeadline;
    case ErrorCode::memory_limit:
      return kMemoryLimit;
    default:
      return kFailed;
  }
}

}  // namespace nearfield::cli
