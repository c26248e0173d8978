// The tables of locality-sensitive hashing over the rows of a part: made, and as a file has them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "filter/filter.hpp"
#include "hash/key_table.hpp"
#include "index/device_copies.hpp"
#include "index/family_data.hpp"
#include "index/lsh/lsh_functions.hpp"
#include "index/lsh/lsh_parameters.hpp"

namespace nearfield {

// Of some rows, which lie behind each other. Tables hold numbers from the first of them.
struct LshRun {
  Range rows;
  OwnLshFunctions own_functions;  // none of a file
  std::vector<KeyTable> own;      // likewise
  LshFunctions functions;
  std::vector<KeyTableView> tables;
  DeviceCopies copies;

  std::int64_t bytes() const;
};

// What plans call a search of it.
std::string lsh_filter_name(const LshRun& run, std::int64_t probes);

// Runs of whole words of 64 rows, so that a bitset of the others can be cut off, from row 0 on.
class LshTables final : public FamilyData {
 public:
  using Runs = std::vector<std::shared_ptr<const LshRun>>;

  explicit LshTables(Runs runs) : runs_(std::move(runs)) {}

  const Runs& runs() const { return runs_; }
  std::int64_t rows() const { return runs_.empty() ? 0 : runs_.back()->rows.end; }
  std::int64_t bytes() const override;

 private:
  Runs runs_;
};

// Tables of all those rows, of which `before` has some, or null.
std::shared_ptr<const LshTables> make_lsh_tables(MatrixView rows, MetricSpec metric,
                                                 const std::shared_ptr<const LshTables>& before,
                                                 const LshParameters& parameters, int threads,
                                                 const Monitor& monitor);
// What that takes, with its making; 0 where nothing is to be made.
std::int64_t lsh_bytes(std::int64_t rows, std::int64_t cols, const LshTables* before,
                       const LshParameters& parameters, int threads);

// One table of so many rows, and what it takes while it is made: itself, and keys.
KeyTable make_lsh_table(std::span<const std::uint64_t> keys, int key_bits, bool sorted, int threads,
                        const Monitor& monitor);
std::int64_t bytes_to_make_lsh_table(std::int64_t rows, int key_bits, bool sorted, int threads);

}  // namespace nearfield
