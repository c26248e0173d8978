// Watches a running call: cancel, deadline, progress.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

#include <nearfield/context.hpp>

namespace nearfield {

class Monitor {
 public:
  using Clock = std::chrono::steady_clock;

  // `context` must outlive it. total: pairs.
  Monitor(const Context& context, std::int64_t total);
  Monitor(Context&& context, std::int64_t total) = delete;

  // Throws if the call is to stop. Any thread, every few milliseconds of work.
  void check() const;

  // Says that `pairs` more are done, reports progress where it is due, then checks.
  void advance(std::int64_t pairs);

  // The last report, done == total. Once, when all work is done.
  void finish();

  double seconds() const;

 private:
  const Context& context_;
  const std::int64_t total_;
  const Clock::time_point start_;
  std::atomic<std::int64_t> done_{0};
  std::mutex reporting_;  // guards next_report_
  Clock::time_point next_report_;
};

}  // namespace nearfield
