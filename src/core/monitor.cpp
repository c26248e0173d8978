#include "core/monitor.hpp"

#include "core/fail.hpp"

namespace nearfield {
namespace {

// Ten a second: smooth for a bar, and a slow callback costs little.
constexpr auto kBetweenReports = std::chrono::milliseconds(100);

}  // namespace

Monitor::Monitor(const Context& context, std::int64_t total)
    : context_(context), total_(total), start_(Clock::now()), next_report_(start_) {}

void Monitor::check() const {
  const bool cancelled = context_.cancel.cancelled();
  if (!cancelled && !(context_.deadline && Clock::now() >= *context_.deadline)) return;
  const std::int64_t done = done_.load(std::memory_order_relaxed);
  const double percent =
      total_ > 0 ? 100.0 * static_cast<double>(done) / static_cast<double>(total_) : 0.0;
  if (cancelled) {
    fail(ErrorCode::cancelled, "cancelled after {:.3f} s with {:.1f} % of {} done", seconds(),
         percent, total_);
  }
  fail(ErrorCode::deadline_exceeded, "the deadline passed after {:.3f} s with {:.1f} % of {} done",
       seconds(), percent, total_);
}

void Monitor::advance(std::int64_t pairs) {
  done_.fetch_add(pairs, std::memory_order_relaxed);
  if (context_.progress) {
    // Who finds another thread reporting leaves it to that one: no worker waits for the callback.
    const std::unique_lock lock(reporting_, std::try_to_lock);
    if (lock.owns_lock() && Clock::now() >= next_report_) {
      context_.progress({done_.load(std::memory_order_relaxed), total_});
      next_report_ = Clock::now() + kBetweenReports;
    }
  }
  check();
}

void Monitor::finish() {
  if (!context_.progress) return;
  const std::lock_guard lock(reporting_);
  context_.progress({total_, total_});
}

double Monitor::seconds() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

}  // namespace nearfield
