#include "scan/rising_query.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/checked.hpp"
#include "core/make_room.hpp"

namespace nearfield {

std::int64_t level_stride(const RisingGrid& grid) { return round_up(grid.rows, kBoundBlock); }
std::int64_t queries_at_once(const RisingGrid& grid) {
  return std::min(grid.query_tile, grid.queries.size());
}

bool asks(const RisingGrid& grid, std::int64_t query) {
  return grid.asking.empty() ||
         (grid.asking[static_cast<std::size_t>(query / 64)] >> (query % 64) & 1) != 0;
}

void RisingScratch::prepare(const RisingGrid& grid) {
  if (levels) return;
  const auto rows = static_cast<std::size_t>(grid.rows);
  levels = std::make_unique_for_overwrite<std::uint8_t[]>(
      static_cast<std::size_t>(queries_at_once(grid) * level_stride(grid)));
  found = std::make_unique_for_overwrite<std::uint32_t[]>(rows);
  if (!grid.fixed_thresholds) sorted = std::make_unique_for_overwrite<std::uint32_t[]>(rows);
}

RisingQuery::RisingQuery(const RisingSteps& steps, std::int64_t query, const KnownLevels& known,
                         RisingScratch& scratch, RisingProgress& progress)
    : grid_(steps.grid),
      allowed_(steps.allowed),
      filter_(steps.filter),
      kernels_(steps.kernels),
      verifier_(steps.verifier),
      sink_(steps.sink),
      monitor_(steps.monitor),
      query_(query),
      known_(known),
      levels_(known.levels),
      scratch_(scratch),
      progress_(progress) {}

// Levels in stretches, each as long as all before it, but the highest one, which has most rows
// and of which ids may drop nearly all, alone: at most ten passes over them. Within a stretch
// rows are sorted by level.
void RisingQuery::run() {
  int& low = progress_.low;
  for (;;) {
    const int highest = std::min(filter_.highest_level(threshold()), kMostLevel);
    if (low > highest) break;
    const int below = std::max(highest - 1, low);
    const int high = grid_.fixed_thresholds ? highest : std::min(below, std::max(2 * low - 1, low));
    if (high > known_.known_to) {
      progress_.needed = high;
      return;
    }
    if (!run_levels(low, high)) break;
    low = high + 1;
  }
  progress_.ended = true;
}

double RisingQuery::threshold() const {
  double threshold = 0;
  sink_.thresholds({query_, query_ + 1}, std::span(&threshold, 1));
  return threshold;
}

// False where the query is to end.
bool RisingQuery::run_levels(int low, int high) {
  const std::int64_t count = find(low, high);
  std::span<std::uint32_t> rows(scratch_.found.get(), static_cast<std::size_t>(count));
  if (low < high && !grid_.fixed_thresholds) rows = by_level(rows, low);
  if (low == high && !grid_.fixed_thresholds) rows = useful(rows);
  while (!rows.empty()) {
    if (!grid_.fixed_thresholds && levels_[rows.front()] > filter_.highest_level(threshold())) {
      return false;
    }
    const auto size = static_cast<std::size_t>(std::min(progress_.block, std::ssize(rows)));
    if (!run_block(rows.first(size))) return false;
    rows = rows.subspan(size);
    progress_.block = std::min(2 * progress_.block, grid_.most_block);
    monitor_.check();
  }
  return true;
}

// Into `found` of the scratch memory.
std::int64_t RisingQuery::find(int low, int high) {
  std::uint32_t* const found = scratch_.found.get();
  if (!known_.listed) {
    return kernels_.find(levels_, grid_.rows, static_cast<std::uint8_t>(low),
                         static_cast<std::uint8_t>(high), found);
  }
  std::uint32_t* end = found;
  for (const std::uint32_t row : *known_.listed) {
    if (levels_[row] >= low && levels_[row] <= high) *end++ = row;
  }
  return end - found;
}

// Rows sorted by level, without those of the highest one that are of no use by their ids, and
// without those above it.
std::span<std::uint32_t> RisingQuery::useful(std::span<std::uint32_t> rows) const {
  const int highest = filter_.highest_level(threshold());
  const auto first_of = [&](int level) {
    return std::partition_point(rows.begin(), rows.end(),
                                [&](std::uint32_t row) { return levels_[row] < level; });
  };
  const auto at = first_of(highest);
  const auto above = first_of(highest + 1);
  const std::int64_t kept =
      sink_.keep_useful(query_, filter_.least_key(highest), std::span(at, above));
  return rows.first(static_cast<std::size_t>(at - rows.begin() + kept));
}

std::span<std::uint32_t> RisingQuery::by_level(std::span<const std::uint32_t> rows, int low) {
  std::array<std::size_t, kMostLevel + 1> next{};
  for (const std::uint32_t row : rows) ++next[static_cast<std::size_t>(levels_[row] - low)];
  std::size_t place = 0;
  for (std::size_t& one : next) place += std::exchange(one, place);
  for (const std::uint32_t row : rows) {
    scratch_.sorted[next[static_cast<std::size_t>(levels_[row] - low)]++] = row;
  }
  return {scratch_.sorted.get(), rows.size()};
}

// The others, in the same memory of this query.
std::span<std::uint32_t> RisingQuery::without_sure_ones(std::span<std::uint32_t> rows) {
  Candidates& sure = scratch_.candidates;
  const double key = threshold();
  sure.start_keyed({{query_, query_ + 1}, {0, grid_.rows}}, grid_.most_block);
  std::size_t left = 0;
  for (const std::uint32_t row : rows) {
    if (filter_.surely_within(query_, row, key)) {
      sure.add(row, key);
    } else {
      rows[left++] = row;
    }
  }
  sure.end_query();
  allowed_.restrict(sure);
  if (sure.size() > 0) sink_.consume(sure, sure.keys());
  return rows.first(left);
}

bool RisingQuery::run_block(std::span<std::uint32_t> rows) {
  Candidates& candidates = scratch_.candidates;
  if (grid_.keys_do_not_matter) rows = without_sure_ones(rows);
  if (!grid_.fixed_thresholds) rows = useful(rows);
  candidates.start_listed({{query_, query_ + 1}, {0, grid_.rows}}, grid_.most_block);
  for (const std::uint32_t row : rows) candidates.add(row);
  candidates.end_query();
  allowed_.restrict(candidates);
  const bool last = candidates.size() > progress_.left;
  if (last) {
    ++scratch_.counts.cut;
    std::int64_t kept = 0;
    candidates.keep_if([&](std::int64_t, std::int64_t) { return kept++ < progress_.left; });
  }
  verify();
  return !last;
}

void RisingQuery::verify() {
  const std::int64_t count = scratch_.candidates.size();
  if (count == 0) return;
  progress_.left -= count;
  scratch_.counts.verified += count;
  const double most = threshold();
  make_room(scratch_.keys, static_cast<std::size_t>(count));
  verifier_.keys(scratch_.candidates, std::span(&most, 1), scratch_.keys, monitor_);
  sink_.consume(scratch_.candidates, scratch_.keys);
}

}  // namespace nearfield
