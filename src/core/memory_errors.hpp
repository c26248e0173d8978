// Memory that the system refuses is an Error like any other.
#pragma once

#include <new>
#include <string>

#include <nearfield/stats.hpp>

#include "core/fail.hpp"

namespace nearfield {

// Calls run(). `advice` says what to ask for instead.
template <class Run>
auto with_memory_errors(const Plan& plan, const char* advice, const Run& run) {
  try {
    return run();
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::memory_limit,
         "the system has no memory for {} bytes of results and {} of work: {}", plan.result_bytes,
         plan.working_bytes, advice);
  }
}

// The same of work without a plan. `what` was to take it, with its numbers and what to do.
template <class Run>
auto with_memory_errors(const std::string& what, const Run& run) {
  try {
    return run();
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::memory_limit, "the system has no memory for {}", what);
  }
}

}  // namespace nearfield
