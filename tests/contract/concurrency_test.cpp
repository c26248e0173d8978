// Searches side by side, and in forked children.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <nearfield/knn.hpp>

#include "tests/oracle/compare.hpp"
#include "tests/oracle/data.hpp"
#include "tests/oracle/in_child.hpp"
#include "tests/oracle/oracle.hpp"

namespace nearfield::contract {
namespace {

struct Problem {
  Matrix base = data::make_matrix({data::Kind::gaussian, DType::f32, 3000, 40, 1});
  Matrix queries = data::make_matrix({data::Kind::gaussian, DType::f32, 60, 40, 2});
  oracle::Answer want = oracle::knn(queries, base, {});

  std::string search(int threads) const {
    return oracle::difference(knn(queries, base, {}, {.threads = threads}), want);
  }
};

TEST(Concurrency, ReadersShareABaseAndGetTheSameAnswers) {
  const Problem problem;
  std::atomic<int> wrong{0};
  std::vector<std::jthread> readers;
  for (int reader = 0; reader < 4; ++reader) {
    readers.emplace_back([&, reader] {
      for (int i = 0; i < 5; ++i) wrong += problem.search(1 + reader) != "";
    });
  }
  readers.clear();  // joins
  EXPECT_EQ(wrong, 0);
}

TEST(Concurrency, AChildForkedDuringSearchesFindsTheAnswer) {
#ifdef NEARFIELD_ADDRESS_SANITIZED
  GTEST_SKIP() << "AddressSanitizer of LLVM 16 does not unlock its allocator in a child forked "
                  "while a thread allocates; the other lanes run this test";
#endif
#ifdef NEARFIELD_THREAD_SANITIZED
  GTEST_SKIP() << "ThreadSanitizer does not support threads of a child that was forked while there "
                  "were several, and hangs now and then; the other lanes run this test";
#endif
  const Problem problem;
  std::atomic<bool> stop{false};
  std::jthread searching([&] {
    while (!stop) EXPECT_EQ(problem.search(2), "");
  });
  for (int fork_number = 0; fork_number < 5; ++fork_number) {
    EXPECT_EQ(in_child([&] { return problem.search(2) == "" ? 0 : 1; }), 0)
        << "fork " << fork_number;
  }
  stop = true;
}

}  // namespace
}  // namespace nearfield::contract
