#include "bench/native/cpu/lsh_sift/beside_scan.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>
#include <nearfield/error.hpp>
#include <nearfield/tune_index.hpp>

#include "bench/native/cpu/lsh_sift/lines.hpp"
#include "bench/native/cpu/program.hpp"

namespace nearfield::bench {
namespace {

constexpr const char* kTuned = "lsh, tuned";
constexpr const char* kScan = "exact scan";

// Of queries one after the other, in a round: a scan of 2 GB takes 0.2 s.
constexpr double kMostSeconds = 1;
constexpr std::int64_t kMostQueriesAlone = 100;

IndexSpec spec_of(const Matrix& base, const std::string& family) {
  return {.family = family, .dtype = base.dtype(), .cols = base.cols()};
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class TimedIndex {
 public:
  TimedIndex(const Index& index, const Matrix& queries, std::int64_t k)
      : index_(index), queries_(queries), k_(k), found_(index.search(queries, {.k = k})) {}

  // How many of the queries are asked one after the other within a second, or so many.
  std::int64_t count_alone() const {
    const auto start = std::chrono::steady_clock::now();
    std::int64_t count = 0;
    while (count < std::min(kMostQueriesAlone, queries_.rows()) &&
           seconds_since(start) < kMostSeconds) {
      index_.search(queries_.view().slice(count++, 1), {.k = k_});
    }
    return count;
  }

  void time_round(std::int64_t alone) {
    auto start = std::chrono::steady_clock::now();
    index_.search(queries_, {.k = k_});
    at_once_.push_back(seconds_since(start));
    start = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < alone; ++i) {
      index_.search(queries_.view().slice(i, 1), {.k = k_});
    }
    alone_.push_back(seconds_since(start) / static_cast<double>(alone));
  }

  void print(const std::string& figure, const char* series, LshPlace place) const {
    print_times(figure, series, place, at_once_);
    place.queries = 1;
    print_times(figure, series, place, alone_);
  }

  const Neighbors& found() const { return found_; }

 private:
  const Index& index_;
  const Matrix& queries_;
  std::int64_t k_;
  Neighbors found_;
  std::vector<double> at_once_;
  std::vector<double> alone_;
};

// One that is as near is as good. Throws where something is nearer than the nearest.
double recall_of(const Neighbors& found, const Neighbors& exact) {
  std::int64_t there = 0;
  for (std::int64_t query = 0; query < found.queries; ++query) {
    const auto keys = found.keys_of(query);
    const auto truth = exact.keys_of(query);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (keys[i] < truth[i]) {
        throw std::runtime_error(fmt::format(
            "query {} found a row at {}, and a scan none before {}", query, keys[i], truth[i]));
      }
      there += keys[i] <= truth.back() ? 1 : 0;
    }
  }
  return static_cast<double>(there) / static_cast<double>(found.queries * found.k);
}

}  // namespace

BesideScan::BesideScan(const Matrix& base, const Matrix& queries, const Matrix& tuned_by,
                       int rounds)
    : base_(base),
      queries_(queries),
      tuned_by_(tuned_by),
      rounds_(rounds),
      flat_(spec_of(base, "flat")) {
  flat_.add(base);
}

void BesideScan::measure(const TunedQuestion& question) const {
  const std::string& figure = question.figure;
  std::optional<Index> index;
  std::optional<TimedIndex> tuned;
  TimedIndex scan(flat_, queries_, question.k);
  try {
    const double recall = static_cast<double>(question.percent) / 100;
    const TunedIndex chosen =
        tune_index(spec_of(base_, "lsh"), MatrixRows(base_), MatrixRows(tuned_by_),
                   {.recall = recall, .k = question.k});
    index.emplace(spec_of(base_, chosen.family));
    index->add(base_);
    tuned.emplace(*index, queries_, question.k);
    const double pairs = static_cast<double>(queries_.rows() * base_.rows());
    print_note(figure,
               fmt::format("{}: {}, {:.4f} % of the rows looked at", question.data, chosen.family,
                           100 * static_cast<double>(tuned->found().stats.pairs_verified) / pairs));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    print_note(figure, fmt::format("{}: {}", question.data, error.what()));
  }
  const std::int64_t alone = scan.count_alone();
  for (int round = 0; round < rounds_; ++round) {
    if (tuned) tuned->time_round(alone);
    scan.time_round(alone);
  }
  const LshPlace place{.queries = queries_.rows(),
                       .rows = base_.rows(),
                       .cols = base_.cols(),
                       .k = question.k,
                       .asked = question.percent};
  scan.print(figure, kScan, place);
  if (!tuned) return;
  tuned->print(figure, kTuned, place);
  print_recall(figure, question.data, kTuned, recall_of(tuned->found(), scan.found()));
}

}  // namespace nearfield::bench
