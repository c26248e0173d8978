// How to run: threads, ISA, memory, time, progress. What to compute is in the options of each call.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include <nearfield/isa.hpp>

namespace nearfield {

// Copies share one flag. A search that sees it set stops within 50 ms with ErrorCode::cancelled;
// what it cannot interrupt is the sorting of one query's neighbours, of all pairs or of allowed
// ids, which takes longer where there are more than half a million of them.
class CancelToken {
 public:
  CancelToken() : flag_(std::make_shared<std::atomic<bool>>(false)) {}

  // Safe from any thread and from a signal handler.
  void cancel() const noexcept { flag_->store(true, std::memory_order_relaxed); }
  bool cancelled() const noexcept { return flag_->load(std::memory_order_relaxed); }

 private:
  std::shared_ptr<std::atomic<bool>> flag_;
};

struct Progress {
  std::int64_t done = 0;  // (query, row) pairs; rows where rows are prepared
  std::int64_t total = 0;
};

struct Context {
  // 0: every core this process may use (CPU affinity and cgroup quota). 1: the calling thread only.
  int threads = 0;

  // Empty: default_isa().
  std::optional<Isa> isa = {};

  // Most bytes a call may allocate, result included, the caller's arrays not. Empty: no limit.
  // Work is cut to fit; what cannot be cut is ErrorCode::memory_limit, with the bytes needed.
  std::optional<std::int64_t> memory_limit = {};

  // Checked like the cancel token.
  std::optional<std::chrono::steady_clock::time_point> deadline = {};

  CancelToken cancel = {};

  // Called from a worker, never from two at once, `done` never falling, a few times a second and
  // once at the end. An exception it throws ends the search and reaches the caller.
  std::function<void(const Progress&)> progress = {};

  // Of everything random: same seed, same bits, whatever the thread count.
  std::uint64_t seed = 0;
};

}  // namespace nearfield
