#include "index/mih/mih_division.hpp"

#include <algorithm>

namespace nearfield {
namespace {

// Those of a list are few, and are looked at one by one.
std::span<const std::shared_ptr<const MihRun>> runs_of(const AskedPart& part) {
  const auto* const tables = static_cast<const MihTables*>(part.view.family.get());
  if (tables == nullptr || part.only_listed) return {};
  return tables->runs();
}

AskedRun asked_run(const AskedPart& part, const MihRun& run, double budget) {
  const auto begin = static_cast<std::size_t>(run.rows.begin);
  const auto count = static_cast<std::size_t>(run.rows.size());
  return {.part = &part,
          .rows = {&run, part.view.rows().slice(run.rows.begin, run.rows.size()),
                   part.filter().words()},
          .ids = part.view.ids().subspan(begin, count),
          .budget = budget};
}

void scan(const AskedPart& part, Range rows, Division& division) {
  division.scanned.push_back(part);
  division.scanned.back().only_rows = rows;
  division.scanned_rows += rows.size();
}

}  // namespace

AskedPart AskedRun::to_scan() const {
  AskedPart scanned = *part;
  scanned.only_rows = rows.run->rows;
  return scanned;
}

LookupEstimate estimate_lookups(std::span<const AskedPart> parts, std::int64_t queries,
                                std::int64_t bits) {
  LookupEstimate estimate;
  for (const AskedPart& part : parts) {
    const MatrixView rows = part.view.rows();
    for (const auto& run : runs_of(part)) {
      const double looked_up = lookup_cost(*run, bits);
      const double scanned =
          scan_cost(run->rows.size(), row_bytes(rows.dtype(), rows.cols()), queries);
      estimate.rows += run->rows.size();
      estimate.lookups += looked_up;
      estimate.scan += scanned;
      estimate.divided += std::min(looked_up, scanned);
    }
  }
  return estimate;
}

Division divide(std::span<const AskedPart> parts, std::int64_t queries, std::int64_t bits,
                double part_of_a_scan) {
  Division division;
  for (const AskedPart& part : parts) {
    const MatrixView rows = part.view.rows();
    std::int64_t end = 0;
    for (const auto& run : runs_of(part)) {
      end = run->rows.end;
      const double scanned =
          scan_cost(run->rows.size(), row_bytes(rows.dtype(), rows.cols()), queries);
      if (lookup_cost(*run, bits) > scanned * part_of_a_scan) {
        scan(part, run->rows, division);
      } else {
        division.runs.push_back(asked_run(part, *run, scanned));
        division.looked_up_rows += run->rows.size();
      }
    }
    if (end < part.view.count || end == 0) scan(part, {end, part.view.count}, division);
  }
  if (division.scanned.empty() && !parts.empty()) scan(parts.back(), {}, division);
  std::ranges::stable_sort(division.runs, [](const AskedRun& a, const AskedRun& b) {
    return a.rows.run->rows.size() > b.rows.run->rows.size();
  });
  return division;
}

}  // namespace nearfield
