// Searches of several stages, each with a context of its own.
#pragma once

#include <algorithm>
#include <cstdint>

#include <nearfield/context.hpp>

namespace nearfield {

// A context for the stages of a search, whose progress goes from 0 to the end of all.
class Stages {
 public:
  Stages(const Context& context, std::int64_t total) : own_(context), total_(total) {
    if (!context.progress) return;
    own_.progress = [this, report = context.progress](const Progress& progress) {
      last_ = done_ + progress.done;
      report({last_, total_});
    };
  }
  Stages(const Stages&) = delete;
  Stages& operator=(const Stages&) = delete;

  Context& context() { return own_; }
  void end_stage(std::int64_t pairs) { done_ += pairs; }
  void finish(const Context& callers) const {
    if (callers.progress && last_ != total_) callers.progress({total_, total_});
  }

 private:
  Context own_;
  std::int64_t total_;
  std::int64_t done_ = 0;
  std::int64_t last_ = -1;
};

// What is left of the limit when so much is taken.
inline Context with_less_memory(const Context& context, std::int64_t taken) {
  Context own = context;
  if (own.memory_limit) own.memory_limit = std::max<std::int64_t>(*own.memory_limit - taken, 0);
  return own;
}

}  // namespace nearfield
