#include "core/tasks.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/oracle/in_child.hpp"

namespace nearfield {
namespace {

using namespace std::chrono_literals;

// How many threads come to work: each waits for the others, on a busy machine up to five seconds.
int count_threads(int threads) {
  std::mutex mutex;
  std::set<std::thread::id> ids;
  std::atomic<int> count{0};
  const auto deadline = std::chrono::steady_clock::now() + 5s;
  run_tasks(threads, threads, [&](std::int64_t, int) {
    {
      const std::lock_guard lock(mutex);
      ids.insert(std::this_thread::get_id());
      count = static_cast<int>(ids.size());
    }
    while (count < threads && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(1ms);
    }
  });
  return count;
}

TEST(Tasks, EachRunsOnceOnAWorkerOfItsOwn) {
  for (const int threads : {1, 2, 7}) {
    std::vector<std::atomic<int>> runs(1000);
    std::vector<std::atomic<bool>> busy(static_cast<std::size_t>(threads));
    run_tasks(1000, threads, [&](std::int64_t task, int worker) {
      ASSERT_GE(worker, 0);
      ASSERT_LT(worker, threads);
      EXPECT_FALSE(busy[static_cast<std::size_t>(worker)].exchange(true));
      ++runs[static_cast<std::size_t>(task)];
      busy[static_cast<std::size_t>(worker)] = false;
    });
    for (const auto& count : runs) ASSERT_EQ(count, 1);
  }
  run_tasks(0, 2, [](std::int64_t, int) { FAIL() << "there is no task"; });
}

TEST(Tasks, UsesAsManyThreadsAsAsked) {
  for (const int threads : {1, 2, 7}) EXPECT_EQ(count_threads(threads), threads);
}

TEST(Tasks, OneThreadIsTheCaller) {
  run_tasks(10, 1, [caller = std::this_thread::get_id()](std::int64_t, int) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
  });
}

TEST(Tasks, AnExceptionReachesTheCaller) {
  for (const int threads : {1, 4}) {
    const auto run = [&] {
      run_tasks(1000, threads, [](std::int64_t task, int) {
        if (task == 17) throw std::runtime_error("seventeen");
      });
    };
    EXPECT_THROW(run(), std::runtime_error);
  }
  EXPECT_EQ(count_threads(2), 2);
}

TEST(Tasks, UsableCoresFollowTheAffinity) {
  EXPECT_GE(usable_cores(), 1);
  EXPECT_LE(usable_cores(), static_cast<int>(std::thread::hardware_concurrency()));
  EXPECT_EQ(in_child([] {
              cpu_set_t one;
              CPU_ZERO(&one);
              CPU_SET(sched_getcpu(), &one);
              sched_setaffinity(0, sizeof one, &one);
              return usable_cores();
            }),
            1);
}

TEST(Background, RunsBesideTheCallerAndIsWaitedFor) {
  std::latch caller_is_here(1);
  bool done = false;
  {
    Background background([&] {
      caller_is_here.wait();
      done = true;
    });
    caller_is_here.count_down();
  }
  EXPECT_TRUE(done);
}

TEST(Background, WaitThrowsWhatItThrewOnce) {
  Background background([] { throw std::runtime_error("none left"); });
  EXPECT_THROW(background.wait(), std::runtime_error);
  background.wait();
}

TEST(Fork, ChildAndParentHaveAllTheirThreads) {
  ASSERT_EQ(count_threads(4), 4);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(in_child([] { return count_threads(4); }), 4);
    EXPECT_EQ(count_threads(4), 4);
  }
  EXPECT_EQ(in_child([] { return in_child([] { return count_threads(3); }); }), 3);
}

// A thread that has searched and lives on keeps oneTBB from shutting its pool down.
TEST(Fork, ChildHasItsThreadsWhenAnotherThreadHadSearched) {
  std::latch searched(1);
  std::latch done(1);
  std::jthread other([&] {
    EXPECT_EQ(count_threads(3), 3);
    searched.count_down();
    done.wait();
  });
  searched.wait();
  // As a prefork server does: no search of the parent between the forks.
  for (int fork = 0; fork < 3; ++fork) EXPECT_EQ(in_child([] { return count_threads(4); }), 4);
  EXPECT_EQ(count_threads(4), 4);
  EXPECT_EQ(in_child([] { return count_threads(4); }), 4);
  done.count_down();
}

TEST(Fork, ChildOfARunningSearchWorks) {
  std::latch running(1);
  std::atomic<bool> stop{false};
  std::jthread search([&] {
    std::atomic<bool> first{true};
    run_tasks(64, 2, [&](std::int64_t, int) {
      if (first.exchange(false)) running.count_down();
      while (!stop) std::this_thread::sleep_for(1ms);
    });
  });
  running.wait();
  EXPECT_EQ(in_child([] { return count_threads(4); }), 4);
  EXPECT_EQ(in_child([] { return in_child([] { return count_threads(3); }); }), 3);
  stop = true;
  search.join();
  EXPECT_EQ(count_threads(4), 4);
  EXPECT_EQ(in_child([] { return count_threads(4); }), 4);
}

}  // namespace
}  // namespace nearfield
