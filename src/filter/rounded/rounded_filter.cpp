#include "filter/rounded/rounded_filter.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include <fmt/format.h>

#include "core/checked.hpp"
#include "core/infinity.hpp"

namespace nearfield {
namespace {

// Bounds beyond this find every row, so that no product of them overflows a float.
constexpr double kUselessSteps = 1e15;

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
  if (const auto level = certain_level(query.kind, threshold)) return {.level = *level};
  return rounding_.form == Form::distance ? distance_bound(query, threshold)
                                          : product_bound(query, threshold);
}

// The most that lies between two vectors whose key is at most the threshold, in steps; less than 0
// if none do.
double RoundedFilter::most_steps(double threshold) const {
  const double distance = most_distance(rounding_, threshold);
  return distance < 0 ? -1 : distance / rounding_.step + kSlack;
}

// |q - x| <= T + L, where T holds the threshold and what the query loses, and L is what the row
// loses: with bytes, (squares of q + squares of x) / 2 - sum <= (T + L)^2 / 2, and the bias has
// taken the squares of x.
RoundedFilter::Bound RoundedFilter::distance_bound(const Rounded& query, double threshold) const {
  if (rounding_.lossless) return {.level = (query.squares - threshold) / 2};
  const double steps = most_steps(threshold);
  if (steps < 0) return {.level = kInfinity};
  const double most = steps + query.loss;
  if (!(most < kUselessSteps)) return {};
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
  if (!(std::abs(level) < kUselessSteps)) return {};
  return {.level = level, .per_loss = -query.length, .per_other = -query.loss};
}

// The sum is an integer below 2^30, and so exact is all that follows.
double RoundedFilter::key(const Rounded& query, std::int32_t sum, std::int64_t row) const {
  if (rounding_.form == Form::distance) return query.squares - 2.0 * sum + rows_.odd(row);
  const double offset = rounding_.offset();
  return 0 - (sum + offset * query.sum + offset * offset * static_cast<double>(rounding_.cols));
}

bool RoundedFilter::Question::near(std::int64_t query, std::int64_t row, double key) const {
  if (key <= thresholds[static_cast<std::size_t>(query - block.queries.begin)]) return true;
  return !row_thresholds.empty() &&
         key <= row_thresholds[static_cast<std::size_t>(row - block.rows.begin)];
}

double RoundedFilter::largest_loss(Range queries) const {
  float largest = 0;
  for (std::int64_t query = queries.begin; query < queries.end; ++query) {
    largest = std::max(largest, queries_.of(query).loss);
  }
  return largest;
}

// As in distance_bound and product_bound, with the threshold on the row's side: of each query,
// (squares of q) / 2 stands against what the row adds. What the queries lose is taken for the
// largest of the block, since here it cannot depend on the query.
void RoundedFilter::ask_columns(const Question& question, TileRoom& room) const {
  constexpr double kLeast = -(1 << 28);
  constexpr double kMost = 1 << 29;  // finds every query
  const double lost = rounding_.lossless ? 0 : largest_loss(question.block.queries);
  const Range rows = question.block.rows;
  std::fill(room.column_bias.begin(), room.column_bias.end(), 0);
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const auto i = static_cast<std::size_t>(row - rows.begin);
    const double threshold = question.row_thresholds[i];
    double bias = rounding_.form == Form::distance ? threshold / 2 : threshold;
    if (!rounding_.lossless) {
      const GroupTerms& terms = *rows_.terms(row - (row - rows.begin) % kGroupRows);
      const double most = most_steps(threshold) + lost + terms.loss;
      bias = most * most / 2 * (1 + 0x1p-40);
    }
    room.column_bias[i] =
        static_cast<std::int32_t>(std::clamp(std::floor(bias) + 2, kLeast, kMost));
  }
}

void RoundedFilter::level_columns(Range queries, TileRoom& room) const {
  constexpr std::int32_t kFarthest = 1 << 29;
  room.column_level.fill(kFarthest);
  for (std::int64_t query = queries.begin; query < queries.end; ++query) {
    const Rounded& rounded = queries_.of(query);
    std::int32_t& level = room.column_level[static_cast<std::size_t>(query - queries.begin)];
    if (rounded.kind == VectorKind::never) continue;
    if (rounded.kind == VectorKind::always) {
      level = -kFarthest;
    } else if (rounding_.form == Form::distance) {
      level = rounded.squares / 2;
    } else {
      level = product_level(rounded);
    }
  }
}

void RoundedFilter::run(const Question& question, Range queries, TileRoom& room) const {
  // What the kernel's own arithmetic in floats may lose, and its rounding to an integer.
  constexpr double kRelative = 0x1p-21;
  const Block& block = question.block;
  const GroupTerms& largest = rows_.largest_terms();
  for (std::int64_t i = 0; i < kTileQueries; ++i) {
    Bound found{.level = kInfinity};
    if (const std::int64_t query = queries.begin + i; query < queries.end) {
      found = bound(queries_.of(query),
                    question.thresholds[static_cast<std::size_t>(query - block.queries.begin)]);
      if (std::isfinite(found.level)) {
        found.level -= 1 + kRelative * (std::abs(found.level) - found.per_loss * largest.loss -
                                        found.per_other * largest.other);
      }
    }
    room.level[static_cast<std::size_t>(i)] = static_cast<float>(found.level);
    room.per_loss[static_cast<std::size_t>(i)] = static_cast<float>(found.per_loss);
    room.per_other[static_cast<std::size_t>(i)] = static_cast<float>(found.per_other);
  }
  const bool both = !question.row_thresholds.empty();
  if (both) level_columns(queries, room);
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
              .column_bias = both ? room.column_bias.data() : nullptr,
              .column_level = both ? room.column_level.data() : nullptr,
              .found_rows = room.rows.data(),
              .found_sums = room.sums.data(),
              .room = kRoomPerQuery,
              .counts = {},
              .rows_from_memory = block.queries.size() <= kTileQueries};
  kernel_.run(room.job);
}

void RoundedFilter::survivors_of_both(const Block& block, std::span<const double> thresholds,
                                      std::span<const double> row_thresholds,
                                      Candidates& out) const {
  assert(block.rows.size() <= kMostTileRows && rows_.begins_group(block.rows.begin));
  const Question question{block, thresholds, row_thresholds};
  TileRoom room;
  if (rounding_.lossless) {
    out.start_keyed(block);
  } else {
    out.start_listed(block);
  }
  if (!row_thresholds.empty()) ask_columns(question, room);
  for (std::int64_t first = block.queries.begin; first < block.queries.end; first += kTileQueries) {
    const Range queries{first, std::min(first + kTileQueries, block.queries.end)};
    run(question, queries, room);
    for (std::int64_t query = queries.begin; query < queries.end; ++query) {
      add(question, query, room, query - queries.begin, out);
      out.end_query();
    }
  }
}

void RoundedFilter::add(const Question& question, std::int64_t query, const TileRoom& room,
                        std::int64_t tile_query, Candidates& out) const {
  const std::int64_t count = room.job.counts[tile_query];
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(tile_query * kRoomPerQuery + i);
    const std::int64_t row = question.block.rows.begin + room.rows[at];
    if (row >= question.block.rows.end) return;  // rows rise; behind the last there are only zeros
    if (!rounding_.lossless) {
      out.add(row);
    } else if (const double exact = key(queries_.of(query), room.sums[at], row);
               question.near(query, row, exact)) {
      out.add(row, exact);
    }
  }
}

// Half of a key's parts, and their sums, are below 2^30.
const NearestFilter* RoundedFilter::nearest() const {
  constexpr std::int64_t kLargestSquare = 255 * 255;
  const bool small = rounding_.cols <= NearestKeys::kLargestKey / kLargestSquare;
  return rounding_.lossless && small && kernel_.nearest != nullptr ? this : nullptr;
}

// As key() has it, with the squares of the query in its level and its odd one.
std::int64_t RoundedFilter::take_nearest(const Block& block, int kept, NearestPlaces queries,
                                         NearestPlaces rows) const {
  assert(block.rows.size() <= kMostTileRows && rows_.begins_group(block.rows.begin));
  const bool distance = rounding_.form == Form::distance;
  NearestRoom room;
  find_row_terms(block.rows, room);
  room.job = {.queries = nullptr,
              .used = 0,
              .query_stride = queries_.stride(),
              .rows = rows_.values(block.rows.begin),
              .groups = divide_up(block.rows.size(), kGroupRows),
              .depth = rows_.depth(),
              .rows_from_memory = block.queries.size() <= kTileQueries,
              .row_count = block.rows.size(),
              .query_level = room.query_level.data(),
              .query_odd = room.query_odd.data(),
              .row_term = room.row_term.data(),
              .shift = distance ? 1 : 0,
              .kept = kept,
              .of_queries = queries,
              .of_rows = rows,
              .first_query = 0,
              .first_row = static_cast<std::int32_t>(block.rows.begin),
              .offered = 0};
  for (std::int64_t first = block.queries.begin; first < block.queries.end; first += kTileQueries) {
    const std::int64_t used = std::min(kTileQueries, block.queries.end - first);
    for (std::int64_t i = 0; i < used; ++i) {
      const Rounded& query = queries_.of(first + i);
      room.query_level[static_cast<std::size_t>(i)] =
          distance ? query.squares >> 1 : product_level(query);
      room.query_odd[static_cast<std::size_t>(i)] = distance ? query.squares & 1 : 0;
    }
    room.job.queries = queries_.values(first);
    room.job.used = used;
    room.job.of_queries = queries.from(first - block.queries.begin);
    room.job.first_query = static_cast<std::int32_t>(first);
    kernel_.nearest(room.job);
  }
  return room.job.offered;
}

void RoundedFilter::find_row_terms(Range rows, NearestRoom& room) const {
  const std::int32_t* bias = rows_.bias(rows.begin);
  room.row_term.fill(0);
  for (std::int64_t i = 0; i < rows.size(); ++i) {
    room.row_term[static_cast<std::size_t>(i)] =
        rounding_.form == Form::distance ? rows_.odd(rows.begin + i) - 2 * bias[i] : -bias[i];
  }
}

std::int32_t RoundedFilter::product_level(const Rounded& query) const {
  return -rounding_.offset() *
         (query.sum + rounding_.offset() * static_cast<std::int32_t>(rounding_.cols));
}

}  // namespace nearfield
