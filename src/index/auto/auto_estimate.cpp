#include "index/auto/auto_estimate.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "index/mih/mih_division.hpp"

namespace nearfield {

void AutoEstimate::explain(Plan& plan) const {
  if (rows == 0) return;
  constexpr double kMillisecond = 1e6;
  plan.note += fmt::format(
      "{}of {} rows with tables, one of {} queries{} is estimated to take a thread {}{:.3g} ms by "
      "lookups, {:.3g} ms by a scan",
      plan.note.empty() ? "" : "; ", rows, queries,
      bits ? fmt::format(" for what differs in {} bits", *bits) : "", bits ? "" : "at least ",
      lookups / kMillisecond, scan / kMillisecond);
  if (scores) {
    plan.note += fmt::format(", {:.3g} ms by scores, which find {:.3g} of it",
                             *scores / kMillisecond, recall);
  }
}

AutoEstimate estimate_exact(std::span<const AskedPart> parts, std::int64_t queries,
                            std::optional<std::int64_t> bits) {
  if (queries == 0) return {};
  const LookupEstimate of_a_query = estimate_lookups(parts, queries, bits.value_or(0));
  return {.rows = of_a_query.rows,
          .queries = queries,
          .bits = bits,
          .lookups = of_a_query.lookups,
          .scan = of_a_query.scan,
          .exact = of_a_query.divided};
}

void add_scores(const EwhDivision& division, std::int64_t cols, AutoEstimate& estimate) {
  if (division.scored_rows == 0 || division.scored_rows != estimate.rows) return;
  estimate.scores = division.cost();
  estimate.recall = division.chance(cols, *estimate.bits);
}

}  // namespace nearfield
