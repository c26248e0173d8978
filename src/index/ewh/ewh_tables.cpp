#include "index/ewh/ewh_tables.hpp"

#include <algorithm>

#include "hash/runs.hpp"
#include "hash/score_kernel.hpp"
#include "hash/substrings.hpp"
#include "index/hashed_rows.hpp"
#include "index/tuning.hpp"

namespace nearfield {
namespace {

std::vector<std::int64_t> ends_of_runs(const EwhTables* tables) {
  std::vector<std::int64_t> ends;
  if (tables == nullptr) return ends;
  for (const auto& run : tables->runs()) ends.push_back(run->rows.end);
  return ends;
}

std::shared_ptr<const EwhRun> make_ewh_run(MatrixView rows, Range range,
                                           const EwhParameters& parameters, TableMaker& maker,
                                           const Monitor& monitor) {
  auto run = std::make_shared<EwhRun>();
  run->rows = range;
  run->shape = choose_ewh(rows, rows.rows(), parameters, monitor);
  run->positions = random_positions(run->shape, rows.cols(), parameters.seed);
  const std::int64_t tables = run->shape.tables;
  if (scores_every_row(run->shape)) {
    run->own_codes = AlignedArray<std::uint8_t>(tables * rows.rows());
    run->codes = {run->own_codes.data(), static_cast<std::size_t>(tables * rows.rows())};
  }
  run->own.reserve(static_cast<std::size_t>(tables));
  for (std::int64_t table = 0; table < tables; ++table) {
    std::uint8_t* const codes =
        scores_every_row(run->shape) ? run->own_codes.data() + table * rows.rows() : nullptr;
    run->own.push_back(maker.make(rows, run->positions_of(table), codes, monitor));
    run->tables.push_back(run->own.back().view());
  }
  return run;
}

}  // namespace

void EwhRun::write_query_buckets(const std::byte* query, std::int64_t cols,
                                 std::vector<std::uint32_t>& buckets) const {
  buckets.resize(static_cast<std::size_t>(shape.tables));
  const MatrixView row(query, DType::bits, 1, cols);
  for (std::int64_t table = 0; table < shape.tables; ++table) {
    write_buckets(row, positions_of(table),
                  std::span(buckets).subspan(static_cast<std::size_t>(table), 1));
  }
}

double EwhRun::chance(std::int64_t cols, std::int64_t differing) const {
  std::call_once(chances_once_, [&] { chances_ = chances_found(shape, cols); });
  return chances_[static_cast<std::size_t>(differing)];
}

double EwhRun::cost(MatrixView of_rows) const {
  std::call_once(cost_once_, [&] { cost_ = ewh_cost(shape, of_rows); });
  return cost_;
}

std::int64_t EwhTables::bytes() const {
  std::int64_t bytes = 0;
  for (const auto& run : runs_) {
    for (const BucketView& table : run->tables) {
      bytes += static_cast<std::int64_t>(table.starts().size_bytes() + table.rows().size_bytes());
    }
    bytes += std::ssize(run->codes);
  }
  return bytes;
}

std::shared_ptr<const EwhTables> make_ewh_tables(MatrixView rows,
                                                 const std::shared_ptr<const EwhTables>& before,
                                                 const EwhParameters& parameters, TableMaker& maker,
                                                 const Monitor& monitor) {
  const std::int64_t hashed = hashed_rows(rows.rows());
  const std::int64_t done = before != nullptr ? before->rows() : 0;
  if (hashed - done < index_tuning().least_packed_rows) return before;
  const GrownRuns grown = grow_runs(ends_of_runs(before.get()), hashed);
  EwhTables::Runs runs;
  if (before != nullptr) {
    runs.assign(before->runs().begin(),
                before->runs().begin() + static_cast<std::ptrdiff_t>(grown.kept));
  }
  runs.push_back(make_ewh_run(rows.slice(grown.begin, hashed - grown.begin), {grown.begin, hashed},
                              parameters, maker, monitor));
  return std::make_shared<const EwhTables>(std::move(runs));
}

std::int64_t ewh_bytes(std::int64_t rows, std::int64_t cols, const EwhTables* before,
                       const EwhParameters& parameters, int threads) {
  const std::int64_t hashed = hashed_rows(rows);
  const std::int64_t done = before != nullptr ? before->rows() : 0;
  if (hashed - done < index_tuning().least_packed_rows) return 0;
  const std::int64_t made = hashed - grow_runs(ends_of_runs(before), hashed).begin;
  const EwhMost most = most_of_ewh(made, cols, parameters);
  return most.tables * (BucketTable::bytes_for(made, most.bits) + made) +
         bytes_to_make_ewh_table(made, most.bits, threads);
}

}  // namespace nearfield
