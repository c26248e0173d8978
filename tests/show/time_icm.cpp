// What a step of local search takes: time_icm [VECTORS]
//
// One core, 256 codewords of 128 columns. A step is the best code of one codebook for one vector.
// For 7, 8 and 16 codebooks: a step where every vector is looked at, by vectors that go through a
// codebook together, beside what it loads and adds; the same of 8 vectors whose unaries stay in the
// first cache, and with tables of one direction, in which every second lookup is a column; and all
// of local search, 16 rounds: how many steps are left of
// rounds x sweeps x codebooks, and what they take of its time. Times are those of the processor,
// cycles those of additions that wait for each other.
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <vector>

#include <fmt/format.h>

#include "code/local_search.hpp"
#include "tests/unit/code/code_reference.hpp"

namespace {

using namespace nearfield;

constexpr int kWords = 256;
constexpr std::int64_t kCols = 128;

// Of this thread.
double processor_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class Work>
double seconds_of(const Work& work) {
  const double start = processor_seconds();
  work();
  return processor_seconds() - start;
}

// Of this core, at the time.
double cycles_a_second() {
  constexpr std::int64_t kAdditions = 20'000'000;
  double best = 1e9;
  for (int round = 0; round < 20; ++round) {
    best = std::min(best, seconds_of([] {
                      std::uint64_t sum = 0;
                      for (std::int64_t i = 0; i < kAdditions; ++i) {
                        sum += 3;
                        asm volatile("" : "+r"(sum));  // one after the other
                      }
                    }));
  }
  return kAdditions / best;
}

// Counts the steps, and their time, of who calls it.
struct Counted {
  static inline const CodeKernels* kernels = nullptr;
  static inline std::int64_t steps = 0;
  static inline double seconds = 0;

  static void icm_step(const IcmJob& job) {
    seconds += seconds_of([&] { kernels->icm_step(job); });
    steps += job.count;
  }
};

// As the kernel does it, but of every second table a column is taken, as where each pair of
// codebooks has one table. Tables are taken for whole ones: of more than 8 codebooks they lie half
// by half, so that sums are of other entries, but as many lines come from as much memory.
void step_by_columns(const IcmJob& job) {
  for (std::int64_t v = 0; v < job.count; ++v) {
    std::uint32_t sums[kWords];
    for (int b = 0; b < kWords; ++b) sums[b] = job.unaries[v * kWords + b];
    for (int slot = 0; slot + 1 < job.codebooks; ++slot) {
      const int other = slot + static_cast<int>(slot >= job.target);
      const int code = job.codes[v * job.codebooks + other];
      const std::uint16_t* const table = job.pairs + std::int64_t{slot} * kWords * kWords;
      const std::int64_t first = slot % 2 == 0 ? code * kWords : code;
      const std::int64_t stride = slot % 2 == 0 ? 1 : kWords;
      for (int b = 0; b < kWords; ++b) sums[b] += table[first + b * stride];
    }
    job.codes[v * job.codebooks + job.target] =
        static_cast<std::uint8_t>(std::min_element(sums, sums + kWords) - sums);
  }
}

// Vectors of any codes that go through all codebooks together, each looked at.
class AllSteps {
 public:
  AllSteps(const IcmTables& tables, std::int64_t batch)
      : tables_(tables),
        batch_(batch),
        unaries_(batch * tables.codebooks() * kWords),
        codes_(static_cast<std::size_t>(batch * tables.codebooks())),
        stale_(static_cast<std::size_t>(batch)),
        vectors_(stale_.size()),
        best_(stale_.size()) {
    Random random(3);
    const std::int64_t entries = batch * tables.codebooks() * kWords;
    for (std::int64_t i = 0; i < entries; ++i) {
      unaries_[i] = static_cast<std::uint16_t>(random.below(30'000));
    }
    for (std::size_t v = 0; v < vectors_.size(); ++v) vectors_[v] = static_cast<std::int32_t>(v);
  }

  // The median of all steps of a codebook, each from random codes.
  double seconds_a_step(const std::function<void(const IcmJob&)>& step) {
    const int m = tables_.codebooks();
    Random random(4);
    std::vector<double> seconds;
    for (int round = 0; round < 3; ++round) {
      for (int k = 0; k < m; ++k) {
        for (auto& code : codes_) code = static_cast<std::uint8_t>(random.below(kWords));
        seconds.push_back(seconds_of([&] {
          step({m, k, tables_.pair_rows(k), unaries_.data() + k * batch_ * kWords, codes_.data(),
                stale_.data(), vectors_.data(), batch_, best_.data()});
        }));
      }
    }
    std::ranges::nth_element(seconds, seconds.begin() + std::ssize(seconds) / 2);
    return seconds[seconds.size() / 2] / static_cast<double>(batch_);
  }

  // The same of steps of 8 vectors, each with the unaries of the first 8 and codes of its own: what
  // is left are tables from L2.
  double seconds_a_step_of_near_unaries() {
    constexpr std::int64_t kNear = 8;
    const int m = tables_.codebooks();
    return seconds_a_step([&](const IcmJob& job) {
      IcmJob near = job;
      near.count = kNear;
      for (std::int64_t first = 0; first + kNear <= batch_; first += kNear) {
        near.codes = job.codes + first * m;
        Counted::kernels->icm_step(near);
      }
    });
  }

 private:
  const IcmTables& tables_;
  std::int64_t batch_;
  AlignedArray<std::uint16_t> unaries_;
  std::vector<std::uint8_t> codes_;
  std::vector<std::uint64_t> stale_;
  std::vector<std::int32_t> vectors_;
  std::vector<BestCode> best_;
};

void show_search(const IcmTables& tables, const std::vector<float>& rows, std::int64_t batch,
                 double clock) {
  const std::int64_t count = std::ssize(rows) / kCols;
  LocalSearch search;
  search.batch = batch;
  const int m = tables.codebooks();
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(count * m));
  CodeKernels counting = *Counted::kernels;
  counting.icm_step = Counted::icm_step;
  Counted::steps = 0;
  Counted::seconds = 0;
  const Context context;
  Monitor monitor(context, count);
  const double seconds = seconds_of([&] {
    search_codes(tables, counting, search, rows.data(), count, StartCodes::random, codes.data(),
                 nullptr, 1, monitor);
  });
  const auto vectors = static_cast<double>(count);
  const auto steps = static_cast<double>(Counted::steps);
  fmt::print(
      "  local search, {} together: {:.1f} us a vector; {:.0f} of {} steps, {:.0f} cycles each, "
      "{:.0f} % of the time\n",
      batch, 1e6 * seconds / vectors, steps / vectors, search.rounds * search.sweeps * m,
      Counted::seconds * clock / steps, 100 * Counted::seconds / seconds);
}

void show(int m, const std::vector<float>& rows, double clock) {
  // Rows in part: what codebooks leave of them gets smaller, as that of trained ones.
  Codebooks books(m, kWords, kCols);
  for (int k = 0; k < m; ++k) {
    for (int b = 0; b < kWords; ++b) {
      const float* const row = rows.data() + (k * kWords + b) * kCols;
      for (std::int64_t i = 0; i < kCols; ++i) books.word(k, b)[i] = row[i] / static_cast<float>(m);
    }
  }
  const Context context;
  Monitor monitor(context, 1);
  const IcmTables tables(books, *Counted::kernels, 1, monitor);
  fmt::print("{} codebooks: a step loads {} lines of 64 bytes and makes {} additions of 32 sums\n",
             m, 8 * m, 8 * (m - 1));
  for (const std::int64_t batch : {512, 1024, 2048, 4096, 8192}) {
    const double seconds = AllSteps(tables, batch).seconds_a_step(Counted::kernels->icm_step);
    fmt::print("  {} vectors together: {:.1f} ns, {:.0f} cycles a step\n", batch, 1e9 * seconds,
               seconds * clock);
  }
  const double near = AllSteps(tables, 8192).seconds_a_step_of_near_unaries();
  fmt::print("  8 vectors whose unaries are near: {:.1f} ns, {:.0f} cycles a step\n", 1e9 * near,
             near * clock);
  const double columns = AllSteps(tables, 2048).seconds_a_step(step_by_columns);
  fmt::print("  2048 together, tables of one direction: {:.1f} ns, {:.0f} cycles a step\n",
             1e9 * columns, columns * clock);
  for (const std::int64_t batch : {1024, 2048, 4096, 8192}) {
    show_search(tables, rows, batch, clock);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t vectors = std::max(argc > 1 ? std::atoll(argv[1]) : 8'192, 16LL * kWords);
  Counted::kernels = &code_kernels(default_isa(), kWords);
  const double clock = cycles_a_second();
  fmt::print("{}, {:.2f} GHz\n", to_string(default_isa()), clock / 1e9);
  const auto rows = test::rows_to_code(vectors, kCols);
  for (const int m : {7, 8, 16}) show(m, rows, clock);
}
