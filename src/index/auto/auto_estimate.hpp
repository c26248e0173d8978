// What a search of packed bits is estimated to take, by each way that `auto` may choose.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include <nearfield/stats.hpp>

#include "index/ewh/ewh_division.hpp"
#include "index/family.hpp"

namespace nearfield {

// What a query that asks for rows which differ in so many bits is estimated to take, of rows that
// have tables: in nanoseconds of a thread.
struct AutoEstimate {
  std::int64_t rows = 0;
  std::int64_t queries = 0;               // of which it is one
  std::optional<std::int64_t> bits = {};  // none: what the k nearest differ in decides
  double lookups = 0;                     // at least, without bits
  double scan = 0;
  double exact = 0;  // by `mih`, which takes one of both for each run
  // Where rows may be missed: what scores take, and which part of those rows they find.
  std::optional<double> scores = {};
  double recall = 1;

  // Behind what the plan says already; nothing of no rows.
  void explain(Plan& plan) const;
};

// By lookups and scans. parts: with the tables of mih.
AutoEstimate estimate_exact(std::span<const AskedPart> parts, std::int64_t queries,
                            std::optional<std::int64_t> bits);

// Adds what scores take, where all these rows have their tables, too.
void add_scores(const EwhDivision& division, std::int64_t cols, AutoEstimate& estimate);

}  // namespace nearfield
