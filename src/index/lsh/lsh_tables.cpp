#include "index/lsh/lsh_tables.hpp"

#include <fmt/format.h>

#include "hash/runs.hpp"
#include "index/hashed_rows.hpp"
#include "index/tuning.hpp"

namespace nearfield {
namespace {

std::vector<std::int64_t> run_ends(const LshTables* tables) {
  std::vector<std::int64_t> ends;
  if (tables == nullptr) return ends;
  for (const auto& run : tables->runs()) ends.push_back(run->rows.end);
  return ends;
}

// The rows of a run that is to be made, if there is one.
std::optional<Range> next_run(std::int64_t rows, const LshTables* before) {
  const std::int64_t hashed = hashed_rows(rows);
  const std::int64_t done = before != nullptr ? before->rows() : 0;
  if (hashed - done < index_tuning().least_packed_rows) return std::nullopt;
  return Range{grow_runs(run_ends(before), hashed).begin, hashed};
}

}  // namespace

std::int64_t LshRun::bytes() const {
  auto bytes = static_cast<std::int64_t>(functions.levels.size_bytes()) +
               functions.directions.rows() * functions.directions.stride_bytes();
  for (const KeyTableView& table : tables) bytes += table.bytes();
  return bytes;
}

std::string lsh_filter_name(const LshRun& run, std::int64_t probes) {
  return fmt::format("locality-sensitive hashing, {} tables of {} bits, {} probes each",
                     run.functions.tables, run.functions.scheme.bits, probes);
}

std::int64_t LshTables::bytes() const {
  std::int64_t bytes = 0;
  for (const auto& run : runs_) bytes += run->bytes();
  return bytes;
}

KeyTable make_lsh_table(std::span<const std::uint64_t> keys, int key_bits, bool sorted, int threads,
                        const Monitor& monitor) {
  return sorted ? KeyTable::sorted(keys, key_bits, threads, monitor)
                : KeyTable::folded(keys, key_bits, threads, monitor);
}

std::int64_t bytes_to_make_lsh_table(std::int64_t rows, int key_bits, bool sorted, int threads) {
  return rows * static_cast<std::int64_t>(sizeof(std::uint64_t)) +
         KeyTable::bytes_to_make(rows, key_bits, sorted, threads);
}

std::shared_ptr<const LshTables> make_lsh_tables(MatrixView rows, MetricSpec metric,
                                                 const std::shared_ptr<const LshTables>& before,
                                                 const LshParameters& parameters, int threads,
                                                 const Monitor& monitor) {
  const std::optional<Range> next = next_run(rows.rows(), before.get());
  if (!next) return before;
  LshTables::Runs runs;
  if (before != nullptr) {
    for (const auto& run : before->runs()) {
      if (run->rows.end <= next->begin) runs.push_back(run);
    }
  }
  const MatrixView made = rows.slice(next->begin, next->size());
  auto run = std::make_shared<LshRun>();
  run->rows = *next;
  run->own_functions = make_lsh_functions(parameters, metric, made, made.rows(), monitor);
  run->functions = run->own_functions.view();
  AlignedArray<std::uint64_t> keys(made.rows());
  for (std::int64_t table = 0; table < parameters.tables; ++table) {
    lsh_keys(made, run->functions, metric, table, threads, monitor, keys.data());
    run->own.push_back(make_lsh_table({keys.data(), static_cast<std::size_t>(made.rows())},
                                      run->functions.scheme.bits, parameters.sorted, threads,
                                      monitor));
    run->tables.push_back(run->own.back().view());
  }
  runs.push_back(std::move(run));
  return std::make_shared<const LshTables>(std::move(runs));
}

std::int64_t lsh_bytes(std::int64_t rows, std::int64_t cols, const LshTables* before,
                       const LshParameters& parameters, int threads) {
  const std::optional<Range> next = next_run(rows, before);
  if (!next) return 0;
  const std::int64_t made = next->size();
  const int bits = parameters.scheme(made).bits;
  return lsh_function_bytes(parameters, cols, made) + lsh_hashing_bytes(cols, threads) +
         parameters.tables * KeyTable::bytes_for(made, bits, parameters.sorted) +
         bytes_to_make_lsh_table(made, bits, parameters.sorted, threads);
}

}  // namespace nearfield
