#include "index/auto/auto_estimate.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "index/mih/mih_division.hpp"

namespace nearfield {

void AutoEstimate::explain(Plan& plan) const {
  if (rows == 0) return;
  constexpr double kMillisecond = 1e6;
  plan.note += fmt::format(
      "{}of {} rows with tables, a query{} is estimated at {}{:.3g} ms by lookups, {:.3g} ms by a "
      "scan",
      plan.note.empty() ? "" : "; ", rows,
      bits ? fmt::format(" for what differs in {} bits", *bits) : "", bits ? "" : "at least ",
      lookups / kMillisecond, scan / kMillisecond);
  if (scores) {
    plan.note += fmt::format(", {:.3g} ms by scores, which find {:.3g} of it",
                             *scores / kMillisecond, recall);
  }
}

AutoEstimate estimate_exact(std::span<const AskedPart> parts, std::int64_t queries,
                            std::optional<std::int64_t> bits, int threads) {
  if (queries == 0) return {};
  const LookupEstimate of_a_query = estimate_lookups(parts, queries, bits.value_or(0), threads);
  return {.rows = of_a_query.rows,
          .bits = bits,
          .lookups = of_a_query.lookups,
          .scan = of_a_query.scan,
          .exact = of_a_query.divided};
}

void add_scores(const EwhDivision& division, MatrixView queries, int threads,
                AutoEstimate& estimate) {
  if (division.scored_rows == 0 || division.scored_rows != estimate.rows) return;
  estimate.scores = division.cost() / division.threads_for(queries.rows(), threads);
  estimate.recall = division.chance(queries.cols(), *estimate.bits);
}

}  // namespace nearfield
