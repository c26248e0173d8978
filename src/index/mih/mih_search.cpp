#include "index/mih/mih_search.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/checked.hpp"
#include "core/float_environment.hpp"
#include "core/tasks.hpp"
#include "filter/bits/bit_thresholds.hpp"
#include "index/mih/mih_division.hpp"
#include "scan/found_budget.hpp"
#include "search/check_rows.hpp"
#include "search/matrix_verifier.hpp"
#include "search/prepared_base.hpp"
#include "search/radius.hpp"
#include "select/top_k.hpp"

namespace nearfield {
namespace {

constexpr MetricSpec kHamming = Metric::hamming;

// Where nothing is known of how far the nearest are, of what a scan takes, what a query may spend
// on lookups before it is scanned after all: if all of that was in vain, the search takes so much
// longer.
constexpr double kSpentInVain = 0.25;

// A context for the stages of a search, whose progress goes from 0 to the end of all.
class Stages {
 public:
  Stages(const Context& context, std::int64_t total) : own_(context), total_(total) {
    if (!context.progress) return;
    own_.progress = [this, report = context.progress](const Progress& progress) {
      last_ = done_ + progress.done;
      report({last_, total_});
    };
  }
  Stages(const Stages&) = delete;
  Stages& operator=(const Stages&) = delete;

  Context& context() { return own_; }
  void end_stage(std::int64_t pairs) { done_ += pairs; }
  void finish(const Context& callers) const {
    if (callers.progress && last_ != total_) callers.progress({total_, total_});
  }

 private:
  Context own_;
  std::int64_t total_;
  std::int64_t done_ = 0;
  std::int64_t last_ = -1;
};

// Queries that a run has left to a scan.
struct LeftToScan {
  // Whether it has answered, and its number, in what grows by doubling.
  static constexpr std::int64_t kBytesPerQuery = sizeof(std::uint8_t) + 2 * sizeof(std::int64_t);

  std::vector<std::int64_t> queries;

  Matrix rows_of(MatrixView all) const {
    Matrix rows(all.dtype(), std::ssize(queries), all.cols());
    for (std::size_t i = 0; i < queries.size(); ++i) {
      std::memcpy(rows.row(static_cast<std::int64_t>(i)), all.row(queries[i]),
                  static_cast<std::size_t>(row_bytes(all.dtype(), all.cols())));
    }
    return rows;
  }
};

// Asks each run for each query. find(query, run, lookup) is whether the run has answered.
template <class Find>
std::vector<LeftToScan> look_up(MatrixView queries, std::span<const AskedRun> runs,
                                const Context& context, Monitor& monitor, Stats& stats,
                                const Find& find) {
  constexpr std::int64_t kQueriesOfATask = 8;
  const int threads = resolve_threads(context.threads);
  std::vector<MihLookup> lookups(static_cast<std::size_t>(threads),
                                 MihLookup(queries.cols(), isa_of(context)));
  std::vector<std::vector<std::uint8_t>> answered(
      runs.size(), std::vector<std::uint8_t>(static_cast<std::size_t>(queries.rows())));
  const std::int64_t tasks = divide_up(queries.rows(), kQueriesOfATask);
  run_tasks(tasks, tasks > 1 ? threads : 1, [&](std::int64_t task, int worker) {
    const std::int64_t end = std::min((task + 1) * kQueriesOfATask, queries.rows());
    for (std::int64_t query = task * kQueriesOfATask; query < end; ++query) {
      for (std::size_t run = 0; run < runs.size(); ++run) {
        if (!find(query, runs[run], lookups[static_cast<std::size_t>(worker)])) continue;
        answered[run][static_cast<std::size_t>(query)] = 1;
        monitor.advance(runs[run].rows.run->rows.size());
      }
    }
  });
  for (const MihLookup& lookup : lookups) {
    stats.pairs_considered += lookup.verified();
    stats.pairs_verified += lookup.verified();
  }
  std::vector<LeftToScan> left(runs.size());
  for (std::size_t run = 0; run < runs.size(); ++run) {
    for (std::int64_t query = 0; query < queries.rows(); ++query) {
      if (answered[run][static_cast<std::size_t>(query)] == 0) left[run].queries.push_back(query);
    }
  }
  return left;
}

// The k nearest of all runs.
class Nearest {
 public:
  using Result = Neighbors;

  Nearest(const Family& flat, std::int64_t queries, std::int64_t k, std::int64_t cols)
      : flat_(flat), k_(k), cols_(static_cast<double>(cols)) {
    best_.assign(static_cast<std::size_t>(queries), TopK<Neighbor>(k));
  }

  // With one more for each thread, of the run it looks into.
  static std::int64_t bytes(std::int64_t queries, std::int64_t k, std::size_t runs, int threads) {
    constexpr std::int64_t kItem = sizeof(Neighbor);
    const std::int64_t best =
        TopK<Neighbor>::most_held(k) * kItem + static_cast<std::int64_t>(sizeof(TopK<Neighbor>));
    return (queries + std::min<std::int64_t>(queries, threads)) * best +
           queries * static_cast<std::int64_t>(runs) * LeftToScan::kBytesPerQuery;
  }

  const char* selector() const { return TopK<Neighbor>::name(k_); }

  Neighbors scan(MatrixView queries, std::span<const AskedPart> parts,
                 const Context& context) const {
    return flat_.search(queries, parts, k_, context);
  }

  bool look_up(std::int64_t query, MatrixView queries, const AskedRun& run, const Monitor& monitor,
               MihLookup& lookup) {
    TopK<Neighbor>& best = best_of(query);
    best.settle();
    Goal goal(k_, best.threshold(), run.ids, cols_);
    if (!lookup.find(queries.row(query), run.rows, run.budget * kSpentInVain, monitor, goal)) {
      return false;
    }
    for (const Neighbor& neighbor : goal.found()) best.offer(neighbor);
    return true;
  }

  void take(const Neighbors& found, std::int64_t row, std::int64_t query) {
    const auto count = static_cast<std::size_t>(found.counts[static_cast<std::size_t>(row)]);
    for (std::size_t i = 0; i < count; ++i) {
      best_of(query).offer({found.keys_of(row)[i], found.ids_of(row)[i]});
    }
  }

  static void free(Neighbors& result) {
    result.ids = {};
    result.keys = {};
    result.distances = {};
    result.counts = {};
  }

  void write(Neighbors& result) {
    const auto slots = static_cast<std::size_t>(result.queries * k_);
    result.ids.assign(slots, kNoId);
    result.keys.assign(slots, std::numeric_limits<double>::infinity());
    result.distances.assign(slots, std::numeric_limits<float>::infinity());
    result.counts.resize(static_cast<std::size_t>(result.queries));
    for (std::int64_t query = 0; query < result.queries; ++query) {
      auto slot = static_cast<std::size_t>(query * k_);
      const std::span<const Neighbor> best = best_of(query).finish();
      result.counts[static_cast<std::size_t>(query)] = std::ssize(best);
      for (const Neighbor& neighbor : best) {
        result.ids[slot] = neighbor.id;
        result.keys[slot] = neighbor.key;
        result.distances[slot++] = static_cast<float>(neighbor.key);
      }
    }
  }

 private:
  class Goal final : public MihGoal {
   public:
    Goal(std::int64_t k, double most, std::span<const std::int64_t> ids, double cols)
        : best_(k, most), ids_(ids), cols_(cols) {}

    double limit() override {
      best_.settle();
      return std::min(best_.threshold(), cols_);
    }
    void take(std::int64_t row, double key) override {
      best_.offer({key, ids_[static_cast<std::size_t>(row)]});
    }
    std::span<const Neighbor> found() { return best_.unsorted(); }

   private:
    TopK<Neighbor> best_;
    std::span<const std::int64_t> ids_;
    double cols_;
  };

  TopK<Neighbor>& best_of(std::int64_t query) { return best_[static_cast<std::size_t>(query)]; }

  const Family& flat_;
  std::int64_t k_;
  double cols_;
  std::vector<TopK<Neighbor>> best_;
};

// All rows of all runs within a radius.
class WithinRadius {
 public:
  using Result = Ranges;

  // A row that is found: here, and in the result, both grown by doubling.
  static constexpr std::int64_t kBytesPerFound =
      2 * (sizeof(Neighbor) + sizeof(std::int64_t) + sizeof(double) + sizeof(float));

  WithinRadius(const Family& flat, std::int64_t queries, double radius, std::int64_t most_bits,
               std::optional<std::int64_t> memory_limit)
      : flat_(flat),
        radius_(radius),
        most_bits_(static_cast<double>(most_bits)),
        budget_(memory_limit ? std::optional(*memory_limit / kBytesPerFound) : std::nullopt,
                "search fewer queries at a time or a smaller radius"),
        found_(static_cast<std::size_t>(queries)) {}

  // Whatever is found: a list here, an offset in the result.
  static std::int64_t bytes(std::int64_t queries, std::size_t runs) {
    return queries * (static_cast<std::int64_t>(sizeof(std::vector<Neighbor>)) +
                      2 * static_cast<std::int64_t>(sizeof(std::int64_t)) +
                      static_cast<std::int64_t>(runs) * LeftToScan::kBytesPerQuery);
  }

  const char* selector() const { return "all within the radius"; }

  Ranges scan(MatrixView queries, std::span<const AskedPart> parts, const Context& context) const {
    return flat_.within(queries, parts, radius_, context);
  }

  bool look_up(std::int64_t query, MatrixView queries, const AskedRun& run, const Monitor& monitor,
               MihLookup& lookup) {
    Goal goal(most_bits_, run.ids, budget_, found_of(query));
    std::vector<Neighbor>& found = found_of(query);
    const std::size_t before = found.size();
    if (lookup.find(queries.row(query), run.rows, run.budget, monitor, goal)) return true;
    budget_.refund(static_cast<std::int64_t>(found.size() - before));  // a scan finds them again
    found.resize(before);
    return false;
  }

  void take(const Ranges& found, std::int64_t row, std::int64_t query) {
    const auto begin = static_cast<std::size_t>(found.offsets[static_cast<std::size_t>(row)]);
    const auto end = static_cast<std::size_t>(found.offsets[static_cast<std::size_t>(row) + 1]);
    budget_.spend(static_cast<std::int64_t>(end - begin));
    for (std::size_t i = begin; i < end; ++i) {
      found_of(query).push_back({found.keys[i], found.ids[i]});
    }
  }

  static void free(Ranges& result) {
    result.offsets = {};
    result.ids = {};
    result.keys = {};
    result.distances = {};
  }

  void write(Ranges& result) {
    result.offsets.assign(1, 0);
    for (std::vector<Neighbor>& found : found_) {
      std::ranges::sort(found, std::less<>());
      for (const Neighbor& neighbor : found) {
        result.ids.push_back(neighbor.id);
        result.keys.push_back(neighbor.key);
        result.distances.push_back(static_cast<float>(neighbor.key));
      }
      result.offsets.push_back(std::ssize(result.ids));
    }
  }

 private:
  class Goal final : public MihGoal {
   public:
    Goal(double most, std::span<const std::int64_t> ids, FoundBudget& budget,
         std::vector<Neighbor>& found)
        : most_(most), ids_(ids), budget_(budget), found_(found) {}

    double limit() override { return most_; }
    void take(std::int64_t row, double key) override {
      budget_.spend(1);
      found_.push_back({key, ids_[static_cast<std::size_t>(row)]});
    }

   private:
    double most_;
    std::span<const std::int64_t> ids_;
    FoundBudget& budget_;
    std::vector<Neighbor>& found_;
  };

  std::vector<Neighbor>& found_of(std::int64_t query) {
    return found_[static_cast<std::size_t>(query)];
  }

  const Family& flat_;
  double radius_;
  double most_bits_;
  FoundBudget budget_;
  std::vector<std::vector<Neighbor>> found_;
};

void add_stats(const Stats& scanned, Stats& all) {
  all.pairs_considered += scanned.pairs_considered;
  all.pairs_verified += scanned.pairs_verified;
}

// given_up: of the lookups of each query in each run, those that were left to a scan. If all were,
// the plan remains that of the scan.
void describe(const Division& division, std::string_view selector, std::int64_t queries,
              std::int64_t given_up, int threads, Plan& plan) {
  const std::int64_t lookups = queries * std::ssize(division.runs);
  if (given_up < lookups) {
    const BitPartition& partition = division.runs.front().rows.run->partition;
    plan.filter =
        fmt::format("multi-index hashing, {} tables of {} bits", partition.tables, partition.bits);
    plan.kernel = kernel_name(kHamming, DType::bits, to_string(plan.isa));
  }
  plan.selector = selector;
  plan.threads = threads;
  plan.pairs = queries * (division.scanned_rows + division.looked_up_rows);
  plan.note.clear();
  if (division.scanned_rows > 0 || division.runs.size() > 1) {
    plan.note = fmt::format("{} rows are looked up in {} runs, {} are scanned",
                            division.looked_up_rows, division.runs.size(), division.scanned_rows);
  }
  if (given_up > 0) {
    plan.note += fmt::format("{}{} of {} lookups were given up for a scan",
                             plan.note.empty() ? "" : "; ", given_up, lookups);
  }
}

// What is left of the limit when so much is taken.
Context with_less_memory(const Context& context, std::int64_t taken) {
  Context own = context;
  if (own.memory_limit) own.memory_limit = std::max<std::int64_t>(*own.memory_limit - taken, 0);
  return own;
}

// Scan what has no tables, look up the rest, scan what is too far to be looked up.
template <class Question>
typename Question::Result answer(MatrixView queries, const Division& division, Question& question,
                                 const Context& own, const Context& callers) {
  check_rows(queries, 0, "queries", false);
  const std::int64_t pairs = queries.rows() * (division.scanned_rows + division.looked_up_rows);
  Stages stages(own, pairs);
  const Context& context = stages.context();
  typename Question::Result result = question.scan(queries, division.scanned, context);
  for (std::int64_t query = 0; query < queries.rows(); ++query) {
    question.take(result, query, query);
  }
  Question::free(result);  // for the scans below, until it is written
  stages.end_stage(queries.rows() * division.scanned_rows);

  Monitor monitor(context, pairs);
  const std::vector<LeftToScan> left =
      look_up(queries, division.runs, context, monitor, result.stats,
              [&](std::int64_t query, const AskedRun& run, MihLookup& lookup) {
                return question.look_up(query, queries, run, monitor, lookup);
              });
  for (std::size_t run = 0; run < left.size(); ++run) {
    const std::int64_t rows = division.runs[run].rows.run->rows.size();
    stages.end_stage((queries.rows() - std::ssize(left[run].queries)) * rows);
  }
  std::int64_t given_up = 0;
  for (std::size_t run = 0; run < left.size(); ++run) {
    const std::int64_t count = std::ssize(left[run].queries);
    if (count == 0) continue;
    const Matrix rows = left[run].rows_of(queries);
    const std::array scanned{division.runs[run].to_scan()};
    const auto found = question.scan(
        rows, scanned, with_less_memory(context, count * row_bytes(rows.dtype(), rows.cols())));
    for (std::int64_t i = 0; i < count; ++i) {
      question.take(found, i, left[run].queries[static_cast<std::size_t>(i)]);
    }
    add_stats(found.stats, result.stats);
    if (given_up == 0) result.stats.plan = found.stats.plan;  // that of the longest
    given_up += count;
    stages.end_stage(count * division.runs[run].rows.run->rows.size());
  }
  question.write(result);
  describe(division, question.selector(), queries.rows(), given_up,
           resolve_threads(context.threads), result.stats.plan);
  result.stats.seconds += monitor.seconds();
  stages.finish(callers);
  return result;
}

bool asks_nothing(MatrixView queries, const Division& division) {
  return queries.rows() == 0 || division.runs.empty();
}

// Not before the arguments are checked, which who scans does.
bool as_the_rows(MatrixView queries, std::span<const AskedPart> parts) {
  return queries.dtype() == DType::bits && queries.cols() == parts.front().view.rows().cols();
}

}  // namespace

Neighbors mih_search(const Family& flat, MatrixView queries, std::span<const AskedPart> parts,
                     std::int64_t k, const Context& context) {
  if (!as_the_rows(queries, parts)) return flat.search(queries, parts, k, context);
  const Division division = divide(parts, queries.rows(), 0);
  if (asks_nothing(queries, division) || k < 0 || k > division.looked_up_rows) {
    return flat.search(queries, parts, k, context);
  }
  const std::int64_t held =
      Nearest::bytes(queries.rows(), k, division.runs.size(), resolve_threads(context.threads));
  if (context.memory_limit && held > *context.memory_limit / 2) {
    return flat.search(queries, parts, k, context);
  }
  Nearest question(flat, queries.rows(), k, queries.cols());
  return answer(queries, division, question, with_less_memory(context, held), context);
}

Ranges mih_within(const Family& flat, MatrixView queries, std::span<const AskedPart> parts,
                  double radius, const Context& context) {
  if (!as_the_rows(queries, parts)) return flat.within(queries, parts, radius, context);
  const DefaultFloats floats;
  const std::int64_t bits = most_differing(Radius(kHamming, radius).largest_key(), queries.cols());
  const Division division = divide(parts, queries.rows(), bits);
  if (asks_nothing(queries, division) || bits < 0) {
    return flat.within(queries, parts, radius, context);
  }
  const std::int64_t held = WithinRadius::bytes(queries.rows(), division.runs.size());
  if (context.memory_limit && held > *context.memory_limit / 4) {
    return flat.within(queries, parts, radius, context);
  }
  // Half for what is found here, half for what a scan finds.
  std::optional<std::int64_t> for_found;
  if (context.memory_limit) for_found = *context.memory_limit / 2 - held;
  WithinRadius question(flat, queries.rows(), radius, bits, for_found);
  const std::int64_t here = held + for_found.value_or(0);
  return answer(queries, division, question, with_less_memory(context, here), context);
}

}  // namespace nearfield
