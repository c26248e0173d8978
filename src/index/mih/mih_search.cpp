#include "index/mih/mih_search.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/checked.hpp"
#include "core/float_environment.hpp"
#include "core/tasks.hpp"
#include "filter/bits/bit_thresholds.hpp"
#include "index/mih/mih_division.hpp"
#include "index/mih/mih_questions.hpp"
#include "index/stages.hpp"
#include "search/check_rows.hpp"
#include "search/matrix_verifier.hpp"
#include "search/prepared_base.hpp"
#include "search/radius.hpp"
#include "search/tiled_rows.hpp"

namespace nearfield {
namespace {

constexpr MetricSpec kHamming = Metric::hamming;

// Looked up by one thread, one after the other.
constexpr std::int64_t kMihTaskQueries = 8;

// Queries that a run has left to a scan.
struct LeftToScan {
  std::vector<std::int64_t> queries;

  // Of all runs: whether each has answered, and numbers, in what grows by doubling.
  static std::int64_t bytes(std::int64_t queries, std::size_t runs) {
    return queries *
           static_cast<std::int64_t>(runs * (sizeof(std::uint8_t) + 2 * sizeof(std::int64_t)));
  }

  Matrix rows_of(MatrixView all) const { return read_all(PickedRows(MatrixRows(all), queries)); }
};

// Asks each run for each query. find(query, run, lookup) is whether the run has answered.
template <class Find>
std::vector<LeftToScan> look_up(MatrixView queries, std::span<const AskedRun> runs,
                                const Context& context, Monitor& monitor, Stats& stats,
                                const Find& find) {
  const int threads = resolve_threads(context.threads);
  std::vector<MihLookup> lookups(static_cast<std::size_t>(threads),
                                 MihLookup(queries.cols(), isa_of(context)));
  std::vector<std::vector<std::uint8_t>> answered(
      runs.size(), std::vector<std::uint8_t>(static_cast<std::size_t>(queries.rows())));
  const std::int64_t tasks = divide_up(queries.rows(), kMihTaskQueries);
  run_tasks(tasks, tasks > 1 ? threads : 1, [&](std::int64_t task, int worker) {
    const std::int64_t end = std::min((task + 1) * kMihTaskQueries, queries.rows());
    for (std::int64_t query = task * kMihTaskQueries; query < end; ++query) {
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

// What a search has beside what it keeps: the buckets and rows that each thread asks for at a time,
// and copies of who is asked, with a bit for each row.
std::int64_t bytes_beside(std::span<const AskedPart> parts, std::size_t runs, int threads) {
  constexpr std::int64_t kOfAThread = 16 << 10;
  constexpr std::int64_t kOfACall = 16 << 10;
  std::int64_t rows = 0;
  for (const AskedPart& part : parts) rows += part.view.count;
  return kOfACall + threads * kOfAThread + static_cast<std::int64_t>(runs + 1) * rows / 8;
}

bool asks_nothing(MatrixView queries, const Division& division) {
  return queries.rows() == 0 || division.runs.empty();
}

}  // namespace

Neighbors mih_search(const Family& flat, MatrixView queries, std::span<const AskedPart> parts,
                     std::int64_t k, const Context& context) {
  if (!as_the_rows(queries, parts)) return flat.search(queries, parts, k, context);
  const Division division = divide(parts, queries.rows(), 0, kSpentInVain);
  if (asks_nothing(queries, division) || k < 0 || k > division.looked_up_rows) {
    return flat.search(queries, parts, k, context);
  }
  const int threads = resolve_threads(context.threads);
  const std::int64_t held = MihNearest::bytes(queries.rows(), k, threads) +
                            LeftToScan::bytes(queries.rows(), division.runs.size()) +
                            bytes_beside(parts, division.runs.size(), threads);
  if (context.memory_limit && held > *context.memory_limit / 2) {
    return flat.search(queries, parts, k, context);
  }
  MihNearest question(flat, queries.rows(), k, queries.cols());
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
  const std::int64_t held =
      MihWithin::bytes(queries.rows()) + LeftToScan::bytes(queries.rows(), division.runs.size()) +
      bytes_beside(parts, division.runs.size(), resolve_threads(context.threads));
  if (context.memory_limit && held > *context.memory_limit / 4) {
    return flat.within(queries, parts, radius, context);
  }
  // Half for what is found here, half for what a scan finds.
  std::optional<std::int64_t> for_found;
  if (context.memory_limit) for_found = *context.memory_limit / 2 - held;
  MihWithin question(flat, queries.rows(), radius, bits, for_found);
  const std::int64_t here = held + for_found.value_or(0);
  return answer(queries, division, question, with_less_memory(context, here), context);
}

}  // namespace nearfield
