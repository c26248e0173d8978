#include "filter/rounded/rounded_filter.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/checked.hpp"

namespace nearfield {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Bounds beyond this find every row, so that no product of them overflows a float.
constexpr double kUseless = 1e15;

}  // namespace

// What a sum must reach, so that the key may be at most the threshold: see TileJob.
struct RoundedFilter::Bound {
  double level = -kInfinity;
  double per_loss = 0;
  double per_other = 0;
};

std::string RoundedFilter::name_of(const TileKernel& kernel) {
  return fmt::format("int8 tiles, {}", kernel.name);
}

RoundedFilter::Bound RoundedFilter::bound(const Rounded& query, double threshold) const {
  if (query.kind == Rounded::Kind::never) return {.level = kInfinity};
  if (query.kind == Rounded::Kind::always || threshold == kInfinity) return {};
  if (threshold == -kInfinity) return {.level = kInfinity};  // no product of usual vectors is
  return rounding_.form == Form::distance ? distance_bound(query, threshold)
                                          : product_bound(query, threshold);
}

// |q - x| <= T + L, where T holds the threshold and what the query loses, and L is what the row
// loses: with bytes, (squares of q + squares of x) / 2 - sum <= (T + L)^2 / 2, and the bias has
// taken the squares of x.
RoundedFilter::Bound RoundedFilter::distance_bound(const Rounded& query, double threshold) const {
  if (rounding_.lossless) return {.level = (query.squares - threshold) / 2};
  // The definition's sum has an error of at most (cols + 8) 2^-53 of itself.
  const double relative = static_cast<double>(rounding_.cols + 16) * 0x1p-52;
  const double squared = rounding_.unit ? 2 + 2 * (threshold + relative) : threshold;
  if (squared < 0) return {.level = kInfinity};
  const double most = std::sqrt(squared) * (1 + relative) / rounding_.step + query.loss + kSlack;
  if (!(most < kUseless)) return {};
  return {.level = (query.squares - most * most) / 2, .per_loss = -most, .per_other = -1};
}

// q x >= -threshold, where q x = q c + q y, y is what is rounded, and
// |q y - q' y'| <= |q| |y - y'| + |q - q'| |y'|.
RoundedFilter::Bound RoundedFilter::product_bound(const Rounded& query, double threshold) const {
  if (rounding_.lossless) {
    const double offset = rounding_.offset();
    return {.level = -threshold - offset * query.sum -
                     offset * offset * static_cast<double>(rounding_.cols)};
  }
  const double step = static_cast<double>(rounding_.step) * query.step;
  const double length = static_cast<double>(query.length) * query.step;
  const double error =
      static_cast<double>(rounding_.cols + 16) * 0x1p-46 * length * rows_.longest();
  const double level = (-threshold - query.product_with_centre - error) / step;
  // Also if it is large: what rows lose may be as large.
  if (!(std::abs(level) < kUseless)) return {};
  return {.level = level, .per_loss = -query.length, .per_other = -query.loss};
}

// The sum is an integer below 2^30, and so exact is all that follows.
double RoundedFilter::key(const Rounded& query, std::int32_t sum, std::int64_t row) const {
  if (rounding_.form == Form::distance) return query.squares - 2.0 * sum + rows_.odd(row);
  const double offset = rounding_.offset();
  return 0 - (sum + offset * query.sum + offset * offset * static_cast<double>(rounding_.cols));
}

void RoundedFilter::run(const Block& block, Range queries, std::span<const double> thresholds,
                        TileRoom& room) const {
  // What the kernel's own arithmetic in floats may lose, and its rounding to an integer.
  constexpr double kRelative = 0x1p-21;
  const GroupTerms& largest = rows_.largest_terms();
  for (std::int64_t i = 0; i < kTileQueries; ++i) {
    Bound found{.level = kInfinity};
    if (const std::int64_t query = queries.begin + i; query < queries.end) {
      found = bound(queries_.of(query),
                    thresholds[static_cast<std::size_t>(query - block.queries.begin)]);
      if (std::isfinite(found.level)) {
        found.level -= 1 + kRelative * (std::abs(found.level) - found.per_loss * largest.loss -
                                        found.per_other * largest.other);
      }
    }
    room.level[static_cast<std::size_t>(i)] = static_cast<float>(found.level);
    room.per_loss[static_cast<std::size_t>(i)] = static_cast<float>(found.per_loss);
    room.per_other[static_cast<std::size_t>(i)] = static_cast<float>(found.per_other);
  }
  room.job = {.queries = queries_.values(queries.begin),
              .used = queries.size(),
              .query_stride = queries_.stride(),
              .rows = rows_.values(block.rows.begin),
              .bias = rows_.bias(block.rows.begin),
              .terms = rows_.terms(block.rows.begin),
              .groups = divide_up(block.rows.size(), kGroupRows),
              .depth = rows_.depth(),
              .level = room.level.data(),
              .per_loss = room.per_loss.data(),
              .per_other = room.per_other.data(),
              .found_rows = room.rows.data(),
              .found_sums = room.sums.data(),
              .room = TileRoom::kRowsPerQuery,
              .counts = {}};
  kernel_.run(room.job);
}

void RoundedFilter::survivors(const Block& block, std::span<const double> thresholds,
                              Candidates& out) const {
  assert(block.rows.size() <= kMostTileRows && rows_.begins_group(block.rows.begin));
  TileRoom room;
  if (rounding_.lossless) {
    out.start_keyed(block);
  } else {
    out.start_listed(block);
  }
  for (std::int64_t first = block.queries.begin; first < block.queries.end; first += kTileQueries) {
    const Range queries{first, std::min(first + kTileQueries, block.queries.end)};
    run(block, queries, thresholds, room);
    for (std::int64_t query = queries.begin; query < queries.end; ++query) {
      add(block, query, thresholds[static_cast<std::size_t>(query - block.queries.begin)], room,
          query - queries.begin, out);
      out.end_query();
    }
  }
}

void RoundedFilter::add(const Block& block, std::int64_t query, double threshold,
                        const TileRoom& room, std::int64_t tile_query, Candidates& out) const {
  const std::int64_t count = room.job.counts[tile_query];
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(tile_query * TileRoom::kRowsPerQuery + i);
    const std::int64_t row = block.rows.begin + room.rows[at];
    if (row >= block.rows.end) return;  // rows rise; behind the last there are only zeros
    if (!rounding_.lossless) {
      out.add(row);
    } else if (const double exact = key(queries_.of(query), room.sums[at], row);
               exact <= threshold) {
      out.add(row, exact);
    }
  }
}

}  // namespace nearfield
