// The calls that run without the GIL now. The interpreter must not end under them: a thread that
// comes back then is unwound through C++, which aborts the process.
#pragma once

#include <nearfield/context.hpp>

namespace nearfield::python {

// One of them, from beginning to end, both with the GIL. Throws cancelled if the interpreter is
// ending and this is not the thread that ends it.
class RunningCall {
 public:
  explicit RunningCall(CancelToken token);
  RunningCall(const RunningCall&) = delete;
  RunningCall& operator=(const RunningCall&) = delete;
  ~RunningCall();

 private:
  CancelToken token_;
};

}  // namespace nearfield::python
