#include "index/mih/mih_tables.hpp"

#include <algorithm>
#include <utility>

#include "hash/runs.hpp"
#include "index/hashed_rows.hpp"
#include "index/tuning.hpp"

namespace nearfield {
namespace {

std::vector<std::int64_t> ends_of(const MihTables* tables) {
  std::vector<std::int64_t> ends;
  if (tables == nullptr) return ends;
  for (const auto& run : tables->runs()) ends.push_back(run->rows.end);
  return ends;
}

// At most, whatever the rows are.
std::int64_t most_table_bytes(const IndexSpec& spec, std::int64_t rows,
                              const MihParameters& parameters) {
  const std::int64_t tables =
      parameters.tables > 0 ? parameters.tables : most_mih_tables(rows, spec.cols);
  return tables * BucketTable::bytes_for(rows, most_mih_bits(rows));
}

}  // namespace

std::int64_t MihTables::bytes() const {
  std::int64_t bytes = 0;
  for (const auto& run : runs_) {
    for (const BucketView& table : run->tables) {
      bytes += static_cast<std::int64_t>(table.starts().size_bytes() + table.rows().size_bytes());
    }
  }
  return bytes;
}

std::shared_ptr<const MihTables> make_mih_tables(MatrixView rows,
                                                 const std::shared_ptr<const MihTables>& before,
                                                 const MihParameters& parameters, TableMaker& maker,
                                                 const Monitor& monitor) {
  const std::int64_t hashed = hashed_rows(rows.rows());
  const std::int64_t done = before != nullptr ? before->rows() : 0;
  if (hashed - done < index_tuning().least_packed_rows) return before;
  const std::vector<std::int64_t> ends = ends_of(before.get());
  const GrownRuns grown = grow_runs(ends, hashed);
  MihTables::Runs runs;
  if (before != nullptr) {
    runs.assign(before->runs().begin(),
                before->runs().begin() + static_cast<std::ptrdiff_t>(grown.kept));
  }
  const MatrixView made = rows.slice(grown.begin, hashed - grown.begin);
  auto run = std::make_shared<MihRun>();
  run->rows = {grown.begin, hashed};
  run->partition = choose_partition(made, made.rows(), parameters.tables, monitor);
  run->own.reserve(static_cast<std::size_t>(run->partition.tables));
  for (std::int64_t table = 0; table < run->partition.tables; ++table) {
    run->own.push_back(maker.make(made, run->partition.of(table), nullptr, monitor));
    run->tables.push_back(run->own.back().view());
  }
  runs.push_back(std::move(run));
  return std::make_shared<const MihTables>(std::move(runs));
}

std::int64_t mih_bytes(const IndexSpec& spec, std::int64_t rows, const MihTables* before,
                       const MihParameters& parameters, int threads) {
  const std::int64_t hashed = hashed_rows(rows);
  const std::int64_t done = before != nullptr ? before->rows() : 0;
  if (hashed - done < index_tuning().least_packed_rows) return 0;
  const std::int64_t made = hashed - grow_runs(ends_of(before), hashed).begin;
  return most_table_bytes(spec, made, parameters) +
         bytes_to_make_mih_table(made, most_mih_bits(made), threads);
}

}  // namespace nearfield
