// Indexes of packed bits: what `auto` takes, beside a scan and beside lookups alone, over numbers
// of codes, bits, queries of a call, radii and k. It may not take more than 1.3 times as long as
// the faster of both. By hand, on a machine that does nothing else, some minutes:
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

double seconds_of(const Index& index, MatrixView queries, const Asked& asked) {
  const auto start = std::chrono::steady_clock::now();
  Context context;
  context.deadline = start + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                 std::chrono::duration<double>(10 * kMostSeconds));
  int searches = 0;
  double passed = 0;
  do {
    if (asked.k) {
      index.search(queries, {.k = *asked.k}, context);
    } else {
      index.within(queries, {.radius = asked.radius}, context);
    }
    ++searches;
    passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  } while (passed < kLeastSeconds);
  return passed / searches;
}

// Infinite where it takes too long: then a scan is faster in any case.
double seconds_of_lookups(const Index& index, MatrixView queries, const Asked& asked) {
  const LookupsAlone alone;
  try {
    return seconds_of(index, queries, asked);
  } catch (const Error&) {
    return std::numeric_limits<double>::infinity();
  }
}

// Whether it is fast enough.
bool time_one(const Index& flat, const Index& fitting, MatrixView queries, const Asked& asked) {
  double scan = std::numeric_limits<double>::infinity();
  double lookups = scan;
  double chosen = scan;
  for (int round = 0; round < kMoreRounds; ++round) {
    if (round >= kRounds && chosen <= kMostTimes * std::min(scan, lookups)) break;
    scan = std::min(scan, seconds_of(flat, queries, asked));
    if (round == 0 || lookups < kMostSeconds) {
      lookups = std::min(lookups, seconds_of_lookups(fitting, queries, asked));
    }
    chosen = std::min(chosen, seconds_of(fitting, queries, asked));
  }
  const double times = chosen / std::min(scan, lookups);
  fmt::print("| {} | {} | {} | {} | {:.3f} | {:.3f} | {:.3f} | {:.2f} |\n", queries.rows(),
             fitting.size(), queries.cols(), asked.text(), 1e3 * scan, 1e3 * lookups, 1e3 * chosen,
             times);
  std::fflush(stdout);
  return times <= kMostTimes;
}

int time_all(std::span<const std::int64_t> sizes) {
  const std::vector<Asked> asked{{{}, 0},  {{}, 7},  {{}, 15}, {{}, 31},
                                 {{}, 50}, {{1}, 0}, {{10}, 0}};
  int slow = 0;
  fmt::print("| queries | codes | bits | asked | ms: scan | lookups | auto | of the faster |\n");
  fmt::print("|---|---|---|---|---|---|---|---|\n");
  for (const std::int64_t rows : sizes) {
    for (const std::int64_t cols : {64, 256}) {
      const Matrix codes = codes_for(rows, cols, 1);
      IndexSpec spec{
          .family = "flat", .dtype = DType::bits, .cols = cols, .metric = Metric::hamming};
      Index flat(spec);
      flat.add(codes);
      spec.family = "auto";
      Index fitting(spec);
      fitting.add(codes);
      const Matrix queries = queries_for(codes, 1'000);
      for (const std::int64_t count : {1, 30, 1'000}) {
        for (const Asked& one : asked) {
          slow += time_one(flat, fitting, queries.view().slice(0, count), one) ? 0 : 1;
        }
      }
    }
  }
  fmt::print("{} of them took more than {} times as long as the faster\n", slow, kMostTimes);
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
