// Indexes of packed bits: what `auto` takes, beside a scan and beside lookups alone, and what it
// takes where a recall of 0.9 is allowed, beside scores as well, over numbers of codes, bits,
// queries of a call, radii and k. It may not take more than 1.3 times as long as the fastest of
// them. Scores count where they are expected to find enough. By hand, on a machine that does
// nothing else, some minutes:
//   build/release/tests/time_auto_index [ROWS...]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nearfield/error.hpp>
#include <nearfield/index.hpp>

#include "core/random.hpp"
#include "index/mih/mih_tuning.hpp"

namespace nearfield {
namespace {

constexpr double kMostTimes = 1.3;
constexpr int kRounds = 3;
constexpr int kMoreRounds = 6;          // where it looks too slow: it must stay so
constexpr double kLeastSeconds = 0.02;  // of a round: shorter searches are repeated
constexpr double kMostSeconds = 2;      // of lookups alone: what takes longer is not waited for

// Random codes; every other query is one of them with some bits turned over.
Matrix codes_for(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  Matrix codes(DType::bits, rows, cols);
  Random random(seed);
  for (std::int64_t row = 0; row < rows; ++row) {
    auto* const words = reinterpret_cast<std::uint64_t*>(codes.row(row));
    for (std::int64_t word = 0; word < cols / 64; ++word) words[word] = random.next_u64();
  }
  return codes;
}

Matrix queries_for(const Matrix& codes, std::int64_t count) {
  Matrix queries = codes_for(count, codes.cols(), 2);
  Random random(3);
  for (std::int64_t i = 0; i < count; i += 2) {
    std::copy_n(codes.row(random.below(codes.rows())), codes.stride_bytes(), queries.row(i));
    for (std::int64_t turned = random.below(codes.cols() / 8); turned > 0; --turned) {
      const std::int64_t bit = random.below(codes.cols());
      queries.row(i)[bit / 8] ^= std::byte{1} << (bit % 8);
    }
  }
  return queries;
}

struct Asked {
  std::optional<std::int64_t> k;
  double radius = 0;

  std::string text() const {
    return k ? fmt::format("k {}", *k) : fmt::format("radius {}", radius);
  }
};

// Lookups whatever they cost, as long as it lives.
class LookupsAlone {
 public:
  LookupsAlone() { mih_tuning().query = mih_tuning().lookup = mih_tuning().candidate = 0; }
  ~LookupsAlone() { mih_tuning() = {}; }
  LookupsAlone(const LookupsAlone&) = delete;
  LookupsAlone& operator=(const LookupsAlone&) = delete;
};

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kRecall = 0.9;

struct TimedSearch {
  double seconds = kNever;
  double recall = 1;  // as its plan expects
};

TimedSearch time_search(const Index& index, MatrixView queries, const Asked& asked) {
  const auto start = std::chrono::steady_clock::now();
  Context context;
  context.deadline = start + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                 std::chrono::duration<double>(10 * kMostSeconds));
  int searches = 0;
  double passed = 0;
  double recall = 1;
  do {
    const Stats stats = asked.k ? index.search(queries, {.k = *asked.k}, context).stats
                                : index.within(queries, {.radius = asked.radius}, context).stats;
    recall = stats.plan.expected_recall;
    ++searches;
    passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  } while (passed < kLeastSeconds);
  return {passed / searches, recall};
}

double seconds_of(const Index& index, MatrixView queries, const Asked& asked) {
  return time_search(index, queries, asked).seconds;
}

// Never where it takes too long: then a scan is faster in any case.
double seconds_of_lookups(const Index& index, MatrixView queries, const Asked& asked) {
  const LookupsAlone alone;
  try {
    return seconds_of(index, queries, asked);
  } catch (const Error&) {
    return kNever;
  }
}

// Never where they find too little.
double seconds_of_scores(const Index& index, MatrixView queries, const Asked& asked) {
  const TimedSearch timed = time_search(index, queries, asked);
  return timed.recall >= kRecall ? timed.seconds : kNever;
}

// The same codes, by every way.
struct Ways {
  Index flat;
  Index scores;
  Index exact;    // auto
  Index scoring;  // auto, where some may be missed

  static Index of(const std::string& family, MatrixView codes) {
    Index index(
        {.family = family, .dtype = DType::bits, .cols = codes.cols(), .metric = Metric::hamming});
    index.add(codes);
    return index;
  }
  explicit Ways(MatrixView codes)
      : flat(of("flat", codes)),
        scores(of(fmt::format("ewh,recall={},near={}", kRecall, codes.cols() / 8), codes)),
        exact(of("auto", codes)),
        scoring(of(fmt::format("auto,recall={},near={}", kRecall, codes.cols() / 8), codes)) {}
};

// The least that each took.
struct Times {
  double scan = kNever;
  double lookups = kNever;
  double scores = kNever;
  double exact = kNever;
  double scoring = kNever;

  void time(const Ways& ways, MatrixView queries, const Asked& asked, bool again) {
    scan = std::min(scan, seconds_of(ways.flat, queries, asked));
    if (!again || lookups < kMostSeconds) {
      lookups = std::min(lookups, seconds_of_lookups(ways.exact, queries, asked));
    }
    scores = std::min(scores, seconds_of_scores(ways.scores, queries, asked));
    exact = std::min(exact, seconds_of(ways.exact, queries, asked));
    scoring = std::min(scoring, seconds_of(ways.scoring, queries, asked));
  }
  double exact_times() const { return exact / std::min(scan, lookups); }
  double scoring_times() const { return scoring / std::min({scan, lookups, scores}); }
  int slow() const {
    return (exact_times() > kMostTimes ? 1 : 0) + (scoring_times() > kMostTimes ? 1 : 0);
  }
};

// How many of both are too slow.
int time_one(const Ways& ways, MatrixView queries, const Asked& asked) {
  Times times;
  for (int round = 0; round < kMoreRounds; ++round) {
    if (round >= kRounds && times.slow() == 0) break;
    times.time(ways, queries, asked, round > 0);
  }
  fmt::print(
      "| {} | {} | {} | {} | {:.3f} | {:.3f} | {:.3f} | {:.3f} | {:.2f} | {:.3f} | {:.2f} |\n",
      queries.rows(), ways.flat.size(), queries.cols(), asked.text(), 1e3 * times.scan,
      1e3 * times.lookups, 1e3 * times.scores, 1e3 * times.exact, times.exact_times(),
      1e3 * times.scoring, times.scoring_times());
  std::fflush(stdout);
  return times.slow();
}

int time_all(std::span<const std::int64_t> sizes) {
  const std::vector<Asked> asked{{{}, 0},  {{}, 7},  {{}, 15}, {{}, 31},
                                 {{}, 50}, {{1}, 0}, {{10}, 0}};
  int slow = 0;
  int all = 0;
  fmt::print(
      "| queries | codes | bits | asked | ms: scan | lookups | scores | auto | of the faster | "
      "auto, recall {} | of the fastest |\n|---|---|---|---|---|---|---|---|---|---|---|\n",
      kRecall);
  for (const std::int64_t rows : sizes) {
    for (const std::int64_t cols : {64, 256}) {
      const Matrix codes = codes_for(rows, cols, 1);
      const Ways ways(codes);
      const Matrix queries = queries_for(codes, 1'000);
      for (const std::int64_t count : {1, 30, 1'000}) {
        for (const Asked& one : asked) {
          slow += time_one(ways, queries.view().slice(0, count), one);
          all += 2;
        }
      }
    }
  }
  fmt::print("{} of {} took more than {} times as long as the fastest\n", slow, all, kMostTimes);
  return slow > 0 ? 1 : 0;
}

}  // namespace
}  // namespace nearfield

int main(int argc, char** argv) {
  std::vector<std::int64_t> sizes;
  for (int i = 1; i < argc; ++i) sizes.push_back(std::atoll(argv[i]));
  if (sizes.empty()) sizes = {5'000, 100'000, 2'000'000};
  return nearfield::time_all(sizes);
}
