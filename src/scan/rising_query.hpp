// One query of a scan by levels, which can be left and gone on with where rows are yet unknown.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "scan/scan_rising.hpp"

namespace nearfield {

// Bytes of the levels of a query, and queries that have some at once.
std::int64_t level_stride(const RisingGrid& grid);
std::int64_t queries_at_once(const RisingGrid& grid);

bool asks(const RisingGrid& grid, std::int64_t query);

// A worker's own memory. Nobody fills it before: of 10,000,000 objects, one query took 140 ms where
// zeros were written first, and most rows are neither found nor sorted.
struct RisingScratch {
  std::unique_ptr<std::uint8_t[]> levels;
  std::unique_ptr<std::uint32_t[]> found;   // rows of some levels
  std::unique_ptr<std::uint32_t[]> sorted;  // the same by level
  std::vector<double> keys;
  Candidates candidates;
  RisingCounts counts;

  void prepare(const RisingGrid& grid);
};

// What all queries of a scan share.
struct RisingSteps {
  const RisingGrid& grid;
  const RowSet& allowed;
  const BoundFilter& filter;
  const LevelKernels& kernels;
  const Verifier& verifier;
  Sink& sink;
  Monitor& monitor;
};

// What is known of a query's rows.
struct KnownLevels {
  const std::uint8_t* levels;  // of each row
  // Those of all levels from where the query is up to `known_to`, rising: the others' are not
  // known. Empty: all rows.
  std::optional<std::span<const std::uint32_t>> listed = {};
  int known_to = kMostLevel;
};

// Where a query is.
struct RisingProgress {
  int low = 0;         // the lowest level that it has not been through
  int needed = 0;      // to go on, it must know levels up to this one
  std::int64_t block;  // rows of the next block
  std::int64_t left;   // of the budget
  bool ended = false;

  explicit RisingProgress(const RisingGrid& grid)
      : block(grid.first_block), left(grid.budget.value_or(grid.rows)) {}
};

class RisingQuery {
 public:
  RisingQuery(const RisingSteps& steps, std::int64_t query, const KnownLevels& known,
              RisingScratch& scratch, RisingProgress& progress);

  // To its end, or as far as levels are known.
  void run();

 private:
  double threshold() const;
  bool run_levels(int low, int high);
  std::int64_t find(int low, int high);
  std::span<std::uint32_t> useful(std::span<std::uint32_t> rows) const;
  std::span<std::uint32_t> by_level(std::span<const std::uint32_t> rows, int low);
  std::span<std::uint32_t> without_sure_ones(std::span<std::uint32_t> rows);
  bool run_block(std::span<std::uint32_t> rows);
  void verify();

  const RisingGrid& grid_;
  const RowSet& allowed_;
  const BoundFilter& filter_;
  const LevelKernels& kernels_;
  const Verifier& verifier_;
  Sink& sink_;
  const Monitor& monitor_;
  const std::int64_t query_;
  const KnownLevels known_;
  const std::uint8_t* const levels_;
  RisingScratch& scratch_;
  RisingProgress& progress_;
};

}  // namespace nearfield
