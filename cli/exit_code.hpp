// What the command tells its caller.
#pragma once

#include <string_view>

#include <nearfield/error.hpp>

namespace nearfield::cli {

enum ExitCode : int {
  kDone = 0,
  kFailed = 1,
  kUsage = 2,
  kDeadline = 3,
  kMemoryLimit = 4,
  kCancelled = 130,  // what a shell reports for a process ended by Ctrl-C
};

inline constexpr std::string_view kExitCodeHelp =
    "Exit codes: 0 done, 1 error of input or system, 2 usage, 3 deadline passed, 4 memory limit, "
    "130 cancelled.";

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
