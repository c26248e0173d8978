// Keys mean the same in every thread, whatever its floating-point mode.
#pragma once

#include <cfenv>

namespace nearfield {

// Round to nearest, denormals kept, for as long as it lives. Other code in a process may have set
// another mode: libraries linked with -ffast-math flush denormals in every thread started later.
class DefaultFloats {
 public:
  DefaultFloats() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloats() { std::fesetenv(&before_); }
  DefaultFloats(const DefaultFloats&) = delete;
  DefaultFloats& operator=(const DefaultFloats&) = delete;

 private:
  std::fenv_t before_;
};

}  // namespace nearfield
