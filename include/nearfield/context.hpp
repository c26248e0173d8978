// How to run: threads, ISA, memory, time, progress. What to compute is in the options of each call.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

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
  // (query, row) pairs; rows where rows are prepared, shapes where a device is tuned.
  std::int64_t done = 0;
  std::int64_t total = 0;
};

struct Context {
  // 0: every core this process may use (CPU affinity and cgroup quota). 1: the calling thread only.
  int threads = 0;

  // Empty: default_isa().
  std::optional<Isa> isa = {};

  // Empty or "cpu": this CPU. "opencl", "cuda:1": a device of devices() (device.hpp), for what runs
  // on one; ErrorCode::unsupported where there is none, or where a call does not. A search may have
  // several, "opencl:0,opencl:1,cpu". Results are the same.
  std::string device = {};

  // Most bytes a call may allocate on the device. Empty: what the device has. Work is cut to fit.
  std::optional<std::int64_t> device_memory_limit = {};

  // Of CUDA: the caller's cudaStream_t as a number, behind whose work this call's is queued; the
  // call still returns when it is done. 0: one of the call's own.
  std::uintptr_t stream = 0;

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
