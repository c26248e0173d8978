// How a search runs: cancel, deadline, progress, memory, threads, and the plan that says so.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nearfield/nearfield.hpp>

#include "filter/rounded/bf16_tile_kernel.hpp"
#include "search/plan.hpp"
#include "tests/contract/isa_sweep.hpp"
#include "tests/force_tiles.hpp"
#include "tests/oracle/compare.hpp"
#include "tests/oracle/data.hpp"

namespace nearfield::contract {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

#ifdef NEARFIELD_SANITIZED
constexpr Milliseconds kPrompt{50 * 20};
#else
constexpr Milliseconds kPrompt{50};
#endif

// The promise is about the library, not about a busy machine: a search that looks too seldom is
// late every time, a scheduler is not. So the best of a few attempts counts.
constexpr int kAttempts = 4;

// Two threads, so that no machine finishes a long search before it is stopped.
Context two_threads() {
  Context context;
  context.threads = 2;
  return context;
}

// Seconds of work on any machine of today. Zeros: the time goes to the search, not to the data.
struct LongSearch {
  const char* name;
  Matrix queries;
  Matrix base;
  KnnOptions options;
};

LongSearch many_rows() {
  return {"2000 x 200000 x 64", Matrix(DType::f32, 2000, 64), Matrix(DType::f32, 200'000, 64),
          nearest(10)};
}

LongSearch large_k() {
  return {"2000 x 200000 x 64, k 1000", Matrix(DType::f32, 2000, 64),
          Matrix(DType::f32, 200'000, 64), nearest(1000, Metric::cosine)};
}

LongSearch wide_rows() {
  return {"500 x 500 x 65536", Matrix(DType::f32, 500, kMaxCols), Matrix(DType::f32, 500, kMaxCols),
          nearest(10)};
}

using MakeSearch = LongSearch (*)();
constexpr MakeSearch kLongSearches[] = {many_rows, large_k, wide_rows};

// Runs a search that must end with `code`, and says when it did.
Clock::time_point time_of_error(const LongSearch& search, const Context& context, ErrorCode code) {
  try {
    knn(search.queries, search.base, search.options, context);
    ADD_FAILURE() << search.name << " finished before it was stopped: make it longer";
  } catch (const Error& error) {
    EXPECT_EQ(to_string(error.code()), to_string(code)) << error.what();
  }
  return Clock::now();
}

Milliseconds cancel_latency(const LongSearch& search, milliseconds delay) {
  const Context context = two_threads();
  Clock::time_point cancelled_at;
  std::thread other([&] {
    std::this_thread::sleep_for(delay);
    cancelled_at = Clock::now();
    context.cancel.cancel();
  });
  const Clock::time_point ended_at = time_of_error(search, context, ErrorCode::cancelled);
  other.join();
  return ended_at - cancelled_at;
}

Milliseconds deadline_latency(const LongSearch& search, milliseconds delay) {
  Context context = two_threads();
  context.deadline = Clock::now() + delay;
  const Clock::time_point ended_at = time_of_error(search, context, ErrorCode::deadline_exceeded);
  return ended_at - *context.deadline;
}

using Latency = Milliseconds (*)(const LongSearch&, milliseconds);

void expect_prompt(Latency latency) {
  for (const MakeSearch make : kLongSearches) {
    const LongSearch search = make();
    // Early, while a search prepares itself, and late, while it runs.
    for (const milliseconds delay : {milliseconds(0), milliseconds(7), milliseconds(80)}) {
      Milliseconds best = Milliseconds::max();
      for (int i = 0; i < kAttempts && best >= kPrompt; ++i) {
        best = std::min(best, latency(search, delay));
      }
      EXPECT_LT(best.count(), kPrompt.count()) << search.name << " after " << delay.count();
    }
  }
}

TEST(Context, CancelFromAnotherThreadStopsWithin50Ms) { expect_prompt(cancel_latency); }

TEST(Context, DeadlineStopsWithin50Ms) { expect_prompt(deadline_latency); }

TEST(Context, WhatIsOverBeforeItStartsDoesNotStart) {
  const Matrix base(DType::f32, 100, 8);
  Context cancelled;
  CancelToken copy = cancelled.cancel;  // copies share the flag
  copy.cancel();
  Context late;
  late.deadline = Clock::now() - milliseconds(1);
  const auto code_of = [&](const Context& context) {
    try {
      knn(base, base, nearest(1), context);
    } catch (const Error& error) {
      return to_string(error.code());
    }
    return std::string_view("no error");
  };
  EXPECT_EQ(code_of(cancelled), to_string(ErrorCode::cancelled));
  EXPECT_EQ(code_of(late), to_string(ErrorCode::deadline_exceeded));
}

TEST(Context, StoppedSearchesLeaveNothingBehind) {
  const Matrix base = data::make_matrix({data::Kind::gaussian, DType::f32, 500, 20, 1});
  const oracle::Answer want = oracle::answer_of(knn(base, base));
  Context context = two_threads();
  context.cancel.cancel();
  EXPECT_THROW(knn(base, base, {}, context), Error);
  context.cancel = CancelToken();
  EXPECT_EQ(oracle::difference(knn(base, base, {}, context), want), "");
}

// ---- progress ----

// Checks each call as it comes: gtest assertions are safe from any thread.
class ProgressLog {
 public:
  explicit ProgressLog(std::int64_t total) : total_(total) {}

  void operator()(const Progress& progress) {
    EXPECT_FALSE(inside_.exchange(true)) << "called from two threads at once";
    EXPECT_EQ(progress.total, total_);
    EXPECT_GE(progress.done, last_);
    EXPECT_LE(progress.done, progress.total);
    last_ = progress.done;
    ++calls_;
    std::this_thread::sleep_for(milliseconds(2));  // long enough to meet a second caller
    inside_ = false;
  }

  std::int64_t last() const { return last_; }
  int calls() const { return calls_; }

 private:
  std::int64_t total_;
  std::int64_t last_ = 0;
  int calls_ = 0;
  std::atomic<bool> inside_ = false;
};

TEST(Context, ProgressGrowsToTheTotalOneCallAtATime) {
  struct Case {
    std::int64_t queries, rows;
    int threads;
    bool small_memory;
  };
  const std::vector<Case> table = {
      {1, 1, 1, false},    {300, 5000, 1, false},  {300, 5000, 7, false},
      {40, 1000, 7, true}, {2, 100'000, 7, false}, {400, 20'000, 2, false},
  };
  for (const Case& c : table) {
    const Matrix queries(DType::f32, c.queries, 32), base(DType::f32, c.rows, 32);
    const data::PiecewiseRows pieces(base);
    const MatrixRows from(queries);
    Context context;
    context.threads = c.threads;
    if (c.small_memory) {
      context.memory_limit = small_memory_limit(from, pieces, nearest(10), context);
    }
    ProgressLog log(c.queries * c.rows);
    context.progress = std::ref(log);
    knn(from, pieces, nearest(10), context);
    EXPECT_EQ(log.last(), c.queries * c.rows) << c.queries << " x " << c.rows;
    EXPECT_GE(log.calls(), 1);
  }
}

struct Thrown {
  int value;
};

TEST(Context, ExceptionOfProgressReachesTheCaller) {
  for (const std::int64_t rows : {10, 50'000}) {
    for (const int threads : {1, 7}) {
      const Matrix base(DType::f32, rows, 16), queries(DType::f32, 50, 16);
      Context context;
      context.threads = threads;
      context.progress = [](const Progress&) { throw Thrown{42}; };
      int caught = 0;
      try {
        knn(queries, base, nearest(3), context);
      } catch (const Thrown& thrown) {
        caught = thrown.value;
      }
      EXPECT_EQ(caught, 42) << rows << " rows, " << threads << " threads";
    }
  }
}

// ---- memory ----

// The numbers in a sentence.
std::vector<std::int64_t> numbers_in(std::string_view text) {
  std::vector<std::int64_t> numbers;
  bool inside = false;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (digit) {
      numbers.resize(numbers.size() + (inside ? 0 : 1));
      numbers.back() = numbers.back() * 10 + (c - '0');
    }
    inside = digit;
  }
  return numbers;
}

TEST(Context, TooSmallMemoryLimitSaysWhatIsNeeded) {
  const Matrix matrix = data::make_matrix({data::Kind::gaussian, DType::f32, 400, 24, 1});
  const data::PiecewiseRows pieces(matrix);
  const MatrixRows rows(matrix);
  const oracle::Answer want = oracle::answer_of(knn(matrix, matrix));
  for (const RowSource* source :
       {static_cast<const RowSource*>(&rows), static_cast<const RowSource*>(&pieces)}) {
    Context context = two_threads();
    context.memory_limit = 1003;
    std::int64_t needed = 0;
    try {
      knn(*source, *source, nearest(10), context);
      ADD_FAILURE() << "400 x 10 results fitted 1003 bytes";
    } catch (const Error& error) {
      EXPECT_EQ(to_string(error.code()), to_string(ErrorCode::memory_limit));
      const std::vector<std::int64_t> numbers = numbers_in(error.what());
      EXPECT_TRUE(std::count(numbers.begin(), numbers.end(), 1003) > 0) << error.what();
      ASSERT_FALSE(numbers.empty());
      needed = *std::max_element(numbers.begin(), numbers.end());
      EXPECT_GT(needed, 400 * 10 * 20) << error.what();
    }
    context.memory_limit = needed;  // exactly what it asked for
    const Neighbors got = knn(*source, *source, nearest(10), context);
    EXPECT_EQ(oracle::difference(got, want), "");
    EXPECT_LE(got.stats.plan.result_bytes + got.stats.plan.working_bytes, needed);
  }
}

// ---- plan and threads ----

std::string all_but_the_filter(const Plan& p) {
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {}", to_string(p.isa), p.kernel,
                     p.selector, p.threads, p.query_batch, p.base_chunk, p.passes, p.query_tile,
                     p.row_tile, p.row_parts, p.pairs, p.result_bytes, p.working_bytes);
}

TEST(Context, ThePlanIsWhatRuns) {
  struct Case {
    DType dtype;
    Metric metric;
    std::int64_t queries, rows;
    int threads;
    bool small_memory;
  };
  const std::vector<Case> table = {
      {DType::f32, Metric::sqeuclidean, 100, 3000, 2, false},
      {DType::f32, Metric::cosine, 100, 3000, 7, true},
      {DType::u8, Metric::inner_product, 1, 20'000, 7, false},
      {DType::bits, Metric::hamming, 40, 999, 1, true},
      {DType::f64, Metric::euclidean, 0, 10, 1, false},
      {DType::f64, Metric::euclidean, 10, 0, 1, false},
  };
  for (const Case& c : table) {
    const Matrix queries = data::make_matrix({data::Kind::uniform, c.dtype, c.queries, 40, 1});
    const Matrix base = data::make_matrix({data::Kind::uniform, c.dtype, c.rows, 40, 2});
    const MatrixRows from(queries);
    const data::PiecewiseRows to(base);
    const KnnOptions options = nearest(5, c.metric);
    Context context;
    context.threads = c.threads;
    if (c.small_memory) {
      context.memory_limit = small_memory_limit(from, to, options, context);
    }
    const Plan plan = plan_knn(from, to, options, context);
    const Stats stats = knn(from, to, options, context).stats;
    EXPECT_EQ(all_but_the_filter(plan), all_but_the_filter(stats.plan));
    if (plan.filter != stats.plan.filter) {
      EXPECT_EQ(plan.filter, "int8 or bf16 tiles, AMX");
      EXPECT_TRUE(stats.plan.filter == "int8 tiles, AMX" || stats.plan.filter == "bf16 tiles, AMX");
    }
    EXPECT_EQ(plan.pairs, c.queries * c.rows);
    EXPECT_LE(plan.threads, c.threads);
    EXPECT_EQ(plan.isa, default_isa());
    EXPECT_GE(plan.result_bytes, c.queries * (5 * 20 + 8));
    EXPECT_GE(stats.seconds, 0);
  }
}

// A plan may leave the choice of tiles to the rows; what ran has been chosen.
TEST(Context, StatsNameTheFilterThatRan) {
  const Matrix queries = data::make_matrix({data::Kind::gaussian, DType::f32, 40, 24, 1});
  const Matrix base = data::make_matrix({data::Kind::gaussian, DType::f32, 1500, 24, 2});
  const MatrixRows from(queries), to(base);
  for (const Metric metric : {Metric::sqeuclidean, Metric::inner_product}) {
    for (const TileValues values : {TileValues::int8, TileValues::bf16}) {
      force_tiles_of(values);
      const double radius = metric == Metric::sqeuclidean ? 10 : 15;
      KnnCursor cursor(from, to, nearest(1, metric));
      const std::vector<std::string> filters = {
          knn(queries, base, nearest(3, metric)).stats.plan.filter,
          cursor.next(2).stats.plan.filter,
          graph(base, {.k = 3, .metric = metric}).stats.plan.filter,
          within(queries, base, {.radius = radius, .metric = metric}).stats.plan.filter,
          pairs(base, {.radius = radius, .metric = metric}).stats.plan.filter,
          pairs(queries, base, {.radius = radius, .metric = metric}).stats.plan.filter,
          mutual(base, {.metric = metric}).stats.plan.filter,
          mutual(base, base, {.metric = metric}).stats.plan.filter,
      };
      const bool has_bf16 = bf16_tile_kernel(default_isa()) != nullptr;
      for (std::size_t i = 0; i < filters.size(); ++i) {
        const bool bf16 = has_bf16 && values == TileValues::bf16;
        EXPECT_TRUE(filters[i].starts_with(bf16 ? "bf16 tiles" : "int8 tiles"))
            << i << ": " << filters[i];
        EXPECT_EQ(filters[i].find(" or "), std::string::npos) << i << ": " << filters[i];
      }
    }
  }
  default_tuning() = Tuning();
}

TEST(Context, PlanThrowsWhatTheSearchWouldThrow) {
  const Matrix narrow(DType::f32, 3, 64), wide(DType::f32, 3, 128), bytes(DType::u8, 3, 64),
      signed_bytes(DType::i8, 3, 64);
  Context tiny;
  tiny.memory_limit = 1;
  const auto code_of = [](const Matrix& queries, const Matrix& base, const Context& context) {
    try {
      plan_knn(MatrixRows(queries), MatrixRows(base), nearest(1), context);
    } catch (const Error& error) {
      return to_string(error.code());
    }
    return std::string_view("no error");
  };
  EXPECT_EQ(code_of(narrow, wide, {}), to_string(ErrorCode::invalid_argument));
  EXPECT_EQ(code_of(bytes, signed_bytes, {}), to_string(ErrorCode::invalid_argument));
  EXPECT_EQ(code_of(wide, wide, tiny), to_string(ErrorCode::memory_limit));
  EXPECT_EQ(code_of(wide, wide, {}), "no error");
}

TEST(Context, NegativeThreadsAreAnError) {
  const Matrix base(DType::f32, 3, 4);
  for (const int threads : {-1, -8}) {
    Context context;
    context.threads = threads;
    try {
      knn(base, base, nearest(1), context);
      ADD_FAILURE() << threads << " threads were accepted";
    } catch (const Error& error) {
      EXPECT_EQ(to_string(error.code()), to_string(ErrorCode::invalid_argument));
      EXPECT_NE(std::string_view(error.what()).find(std::to_string(threads)),
                std::string_view::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace nearfield::contract
