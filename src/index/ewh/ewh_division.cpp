#include "index/ewh/ewh_division.hpp"

namespace nearfield {

EwhDivision::EwhDivision(std::span<const AskedPart> parts) {
  for (const AskedPart& part : parts) {
    const auto* const tables = static_cast<const EwhTables*>(part.view.family.get());
    std::int64_t end = 0;
    if (tables != nullptr && !part.only_listed) {  // those of a list are few
      for (const auto& run : tables->runs()) add_run(part, *run);
      end = tables->rows();
    }
    if (end < part.view.count || end == 0) scan(part, {end, part.view.count});
  }
  if (scanned.empty()) scan(parts.back(), {});
}

double EwhDivision::chance(std::int64_t cols, std::int64_t differing) const {
  auto expected = static_cast<double>(scanned_rows);
  for (const AskedEwhRun& asked : runs) {
    const EwhRun& run = *asked.rows.run;
    expected += run.chance(cols, differing) * static_cast<double>(run.rows.size());
  }
  return expected / static_cast<double>(scanned_rows + scored_rows);
}

double EwhDivision::expected_found(std::int64_t cols, std::span<const double> keys) const {
  double expected = 0;
  for (const double key : keys) expected += chance(cols, static_cast<std::int64_t>(key));
  return expected;
}

double EwhDivision::cost() const {
  double cost = 0;
  for (const AskedEwhRun& asked : runs) cost += asked.rows.run->cost(asked.rows.rows);
  return cost;
}

void EwhDivision::add_run(const AskedPart& part, const EwhRun& run) {
  const Range range = run.rows;
  runs.push_back({{&run, part.view.rows().slice(range.begin, range.size()), part.filter().words()},
                  part.view.ids().subspan(static_cast<std::size_t>(range.begin),
                                          static_cast<std::size_t>(range.size()))});
  scored_rows += range.size();
}

void EwhDivision::scan(const AskedPart& part, Range rows) {
  scanned.push_back(part);
  scanned.back().only_rows = rows;
  scanned_rows += rows.size();
}

}  // namespace nearfield
