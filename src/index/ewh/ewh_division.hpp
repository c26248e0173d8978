// Which rows of an index are scored in tables, and which have none.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/ewh/ewh_worker.hpp"
#include "index/family.hpp"

namespace nearfield {

struct AskedEwhRun {
  EwhRows rows;
  std::span<const std::int64_t> ids;
};

// The parts must outlive it.
struct EwhDivision {
  std::vector<AskedEwhRun> runs;
  std::vector<AskedPart> scanned;  // at least one, which may be without rows
  std::int64_t scanned_rows = 0;
  std::int64_t scored_rows = 0;

  explicit EwhDivision(std::span<const AskedPart> parts);

  // The chance that a row is found which differs from a query in so many of its bits: those of a
  // scan are found for certain.
  double chance(std::int64_t cols, std::int64_t differing) const;
  // Of the nearest rows of a query, how many are expected to be among those found, which have these
  // keys: true ones are not farther, and so not found with a smaller chance.
  double expected_found(std::int64_t cols, std::span<const double> keys) const;
  // What scoring a query is estimated to take of a thread, in nanoseconds.
  double cost() const;

 private:
  void add_run(const AskedPart& part, const EwhRun& run);
  void scan(const AskedPart& part, Range rows);
};

}  // namespace nearfield
