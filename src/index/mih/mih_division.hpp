// Which rows of an index are looked up in tables, and which are scanned.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/family.hpp"
#include "index/mih/mih_lookup.hpp"

namespace nearfield {

// A run that is asked.
struct AskedRun {
  const AskedPart* part;
  MihRows rows;
  std::span<const std::int64_t> ids;
  double budget;  // of a query, in nanoseconds: beyond, it is scanned

  AskedPart to_scan() const;
};

struct Division {
  std::vector<AskedRun> runs;      // the longest first: what it finds leaves less to ask of others
  std::vector<AskedPart> scanned;  // at least one, which may be without rows
  std::int64_t scanned_rows = 0;
  std::int64_t looked_up_rows = 0;
};

// bits: a query asks for rows that differ in so many, at least: runs where that takes more than
// that part of a scan are scanned. Looks at the parts.
Division divide(std::span<const AskedPart> parts, std::int64_t queries, std::int64_t bits,
                double part_of_a_scan = 1);

// Of rows that have tables: what it takes of a thread to look a query up, and to scan, in
// nanoseconds.
struct LookupEstimate {
  std::int64_t rows = 0;
  double lookups = 0;
  double scan = 0;
  double divided = 0;  // as divide() has it, each run by one of both
};

// Of a query that asks for rows that differ in so many bits, one of `queries`.
LookupEstimate estimate_lookups(std::span<const AskedPart> parts, std::int64_t queries,
                                std::int64_t bits);

}  // namespace nearfield
