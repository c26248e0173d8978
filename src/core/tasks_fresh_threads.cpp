#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/tasks.hpp"

namespace nearfield {

void run_on_fresh_threads(std::int64_t count, int threads, const TaskBody& body) {
  std::atomic<std::int64_t> next{0};
  std::mutex mutex;
  std::exception_ptr first_error;

  const auto work = [&](int worker) {
    try {
      for (std::int64_t task = next++; task < count; task = next++) body(task, worker);
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      if (!first_error) first_error = std::current_exception();
    }
  };

  {
    std::vector<std::jthread> helpers;
    const auto wanted = static_cast<int>(std::min<std::int64_t>(threads, count));
    try {
      for (int worker = 1; worker < wanted; ++worker) helpers.emplace_back(work, worker);
    } catch (const std::system_error&) {
      // The system gives no more threads: those that started, and this one, do the work.
    }
    work(0);
  }
  if (first_error) std::rethrow_exception(first_error);
}

struct Background::State {
  std::exception_ptr error;
  std::thread thread;
};

// Where the system gives no thread, it is done at once.
Background::Background(std::function<void()> work) : state_(std::make_unique<State>()) {
  auto run = [this, work = std::move(work)] {
    try {
      work();
    } catch (...) {
      state_->error = std::current_exception();
    }
  };
  try {
    state_->thread = std::thread(run);
  } catch (const std::system_error&) {
    run();
  }
}

Background::~Background() {
  if (state_->thread.joinable()) state_->thread.join();
}

void Background::wait() {
  if (state_->thread.joinable()) state_->thread.join();
  if (state_->error) std::rethrow_exception(std::exchange(state_->error, nullptr));
}

}  // namespace nearfield
