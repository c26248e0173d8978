// Indexes of packed bits: what `auto` takes, beside a scan and beside lookups alone, and what it
// takes where a recall of 0.9 is allowed, beside scores as well, over numbers of codes, bits,
// queries of a call, radii and k. It may not take more than 1.3 times as long as the fastest of
// them: where it does, what its plan has estimated is printed, and the program fails. Scores count
// where they are expected to find enough. By hand, on a machine that does nothing else: about five
// minutes, since nothing that is slower than a scan is waited for.
//   build/release/tests/time_auto_index [ROWS...]
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
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
constexpr double kMostSeconds = 20;     // of what is chosen, a hundred times what any takes

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
constexpr std::array<std::int64_t, 3> kCalls{1, 30, 1'000};  // queries of each

struct TimedSearch {
  double seconds = kNever;
  Plan plan;
};

// The fastest of some. Throws where one takes longer than `most` seconds.
TimedSearch time_search(const Index& index, MatrixView queries, const Asked& asked, double most) {
  using Clock = std::chrono::steady_clock;
  TimedSearch timed;
  for (double passed = 0; passed < kLeastSeconds;) {
    const auto begin = Clock::now();
    Context context;
    context.deadline = begin + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::duration<double>(most));
    timed.plan = asked.k ? index.search(queries, {.k = *asked.k}, context).stats.plan
                         : index.within(queries, {.radius = asked.radius}, context).stats.plan;
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    timed.seconds = std::min(timed.seconds, seconds);
    passed += seconds;
  }
  return timed;
}

// Never where it takes far longer than a scan, whose seconds these are, or finds too little: then
// it is not the fastest. An interrupted search is no reason.
double seconds_within(double scan, const Index& index, MatrixView queries, const Asked& asked) {
  try {
    const TimedSearch timed = time_search(index, queries, asked, 2 * scan + 0.01);
    return timed.plan.expected_recall >= kRecall ? timed.seconds : kNever;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::deadline_exceeded) throw;
    return kNever;
  }
}

// The same codes, by every way.
struct Ways {
  Index flat;
  Index scores;
  Index exact;                            // auto
  std::map<std::int64_t, Index> scoring;  // auto, where some may be missed, by queries of a call

  static Index of(const std::string& family, MatrixView codes) {
    Index index(
        {.family = family, .dtype = DType::bits, .cols = codes.cols(), .metric = Metric::hamming});
    index.add(codes);
    return index;
  }
  explicit Ways(MatrixView codes)
      : flat(of("flat", codes)),
        scores(of(fmt::format("ewh,recall={},near={}", kRecall, codes.cols() / 8), codes)),
        exact(of("auto", codes)) {
    for (const std::int64_t batch : kCalls) {
      const std::string family =
          fmt::format("auto,recall={},near={},batch={}", kRecall, codes.cols() / 8, batch);
      scoring.emplace(batch, of(family, codes));
    }
  }
};

// The least that each took.
struct Times {
  double scan = kNever;
  double lookups = kNever;
  double scores = kNever;
  TimedSearch exact;
  TimedSearch scoring;

  // Lookups and scores that were not in question at first are not asked again.
  void time(const Ways& ways, MatrixView queries, const Asked& asked, bool first) {
    scan = std::min(scan, time_search(ways.flat, queries, asked, kMostSeconds).seconds);
    if (first || lookups < kNever) {
      const LookupsAlone alone;
      lookups = std::min(lookups, seconds_within(scan, ways.exact, queries, asked));
    }
    if (first || scores < kNever) {
      scores = std::min(scores, seconds_within(scan, ways.scores, queries, asked));
    }
    keep_faster(time_search(ways.exact, queries, asked, kMostSeconds), exact);
    keep_faster(time_search(ways.scoring.at(queries.rows()), queries, asked, kMostSeconds),
                scoring);
  }
  double exact_times() const { return exact.seconds / std::min(scan, lookups); }
  double scoring_times() const { return scoring.seconds / std::min({scan, lookups, scores}); }
  double worst() const { return std::max(exact_times(), scoring_times()); }

 private:
  static void keep_faster(const TimedSearch& timed, TimedSearch& least) {
    if (timed.seconds < least.seconds) least = timed;
  }
};

std::string milliseconds(double seconds) {
  return seconds < kNever ? fmt::format("{:.3f}", 1e3 * seconds) : "-";
}

// What all cells have come to.
struct Summary {
  int slow = 0;
  int all = 0;
  double worst = 0;
  std::string worst_cell;

  void add(double times, const std::string& cell) {
    ++all;
    if (times > kMostTimes) ++slow;
    if (times <= worst) return;
    worst = times;
    worst_cell = cell;
  }
};

void time_one(const Ways& ways, MatrixView queries, const Asked& asked, Summary& summary) {
  Times times;
  for (int round = 0; round < kMoreRounds; ++round) {
    if (round >= kRounds && times.worst() <= kMostTimes) break;
    times.time(ways, queries, asked, round == 0);
  }
  const std::string cell = fmt::format("| {} | {} | {} | {}", queries.rows(), ways.flat.size(),
                                       queries.cols(), asked.text());
  fmt::print("{} | {} | {} | {} | {} | {:.2f} | {} | {:.2f} |\n", cell, milliseconds(times.scan),
             milliseconds(times.lookups), milliseconds(times.scores),
             milliseconds(times.exact.seconds), times.exact_times(),
             milliseconds(times.scoring.seconds), times.scoring_times());
  for (const auto& [name, ratio, search] :
       {std::tuple{"auto", times.exact_times(), &times.exact},
        {"auto, with a recall", times.scoring_times(), &times.scoring}}) {
    summary.add(ratio, fmt::format("{} | {}", cell, name));
    if (ratio > kMostTimes) {
      fmt::print("{}, {:.2f} times: {}; {}\n", name, ratio, search->plan.filter, search->plan.note);
    }
  }
  std::fflush(stdout);
}

// Of 64 bits, a radius of 31 would find half of all codes.
std::vector<Asked> asked_of(std::int64_t cols) {
  std::vector<Asked> asked{{{1}, 0}, {{10}, 0}};
  for (const int of_256 : {0, 7, 15, 31, 50}) {
    asked.push_back({{}, static_cast<double>(of_256 * cols / 256)});
  }
  return asked;
}

int time_all(std::span<const std::int64_t> sizes) {
  Summary summary;
  fmt::print(
      "| queries | codes | bits | asked | ms: scan | lookups | scores | auto | of the faster | "
      "auto, recall {} | of the fastest |\n|---|---|---|---|---|---|---|---|---|---|---|\n",
      kRecall);
  for (const std::int64_t rows : sizes) {
    for (const std::int64_t cols : {64, 256}) {
      const Matrix codes = codes_for(rows, cols, 1);
      const Ways ways(codes);
      const Matrix queries = queries_for(codes, 1'000);
      for (const std::int64_t count : kCalls) {
        for (const Asked& one : asked_of(cols)) {
          time_one(ways, queries.view().slice(0, count), one, summary);
        }
      }
    }
  }
  fmt::print(
      "{} of {} took more than {} times as long as the fastest; the worst {:.2f} times: {}\n",
      summary.slow, summary.all, kMostTimes, summary.worst, summary.worst_cell);
  return summary.slow > 0 ? 1 : 0;
}

}  // namespace
}  // namespace nearfield

int main(int argc, char** argv) {
  std::vector<std::int64_t> sizes;
  for (int i = 1; i < argc; ++i) sizes.push_back(std::atoll(argv[i]));
  if (sizes.empty()) sizes = {5'000, 100'000, 2'000'000};
  return nearfield::time_all(sizes);
}
