#include "filter/rounded/bf16_filter.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "core/checked.hpp"
#include "core/infinity.hpp"

namespace nearfield {
namespace {

// Bounds beyond this find every row, so that no square of them overflows a float.
constexpr double kUselessLength = 1e18;

// More than the 16,384 sums below 2^-126 amount to that tiles take for 0.
constexpr double kLeastSum = 0x1p-108;

// A level in float32 that is no higher, also by what terms as large as it may be off.
float lowered(double level) {
  if (!std::isfinite(level)) return static_cast<float>(level);
  return static_cast<float>(level - kBf16TermError * std::abs(level) - kLeastSum);
}

}  // namespace

// What a sum must reach, so that the key may be at most the threshold: see Bf16TileJob.
struct Bf16Filter::Bound {
  double level = -kInfinity;
  double per_term = 0;
};

Bf16Filter::Bound Bf16Filter::bound(const Bf16Vector& query, double threshold) const {
  if (const auto level = certain_level(query.kind, threshold)) return {.level = *level};
  return rounding_.form == Form::distance ? distance_bound(query, threshold)
                                          : product_bound(query, threshold);
}

// |q - x| <= T + L, where T holds the threshold and what the query loses, and L is what the row
// loses: (squares of q + squares of x) / 2 - sum <= T^2 / 2 + T L + L^2 / 2. What the sum is off by
// is a part of the lengths' product, and so of half the sum of their squares.
Bf16Filter::Bound Bf16Filter::distance_bound(const Bf16Vector& query, double threshold) const {
  const double distance = most_distance(rounding_, threshold);
  if (distance < 0) return {.level = kInfinity};
  const double most = distance + query.loss;
  if (!(most < kUselessLength)) return {};
  const double squares = query.squares * (1 - bf16_sum_error(rounding_.cols));
  return {.level = (squares - most * most) / 2, .per_term = most};
}

// q x >= -threshold, where q x = q c + q y, y is what is rounded, and for a q of length 1
// |q y - q' y'| <= |y - y'| + |q - q'| |y'|.
Bf16Filter::Bound Bf16Filter::product_bound(const Bf16Vector& query, double threshold) const {
  const double error =
      static_cast<double>(rounding_.cols + 16) * 0x1p-46 * query.divisor * rows_.longest();
  const double level = (-threshold - query.product_with_centre - error) / query.divisor;
  if (!(std::abs(level) < kUselessLength * kUselessLength)) return {};
  return {.level = level,
          .per_term = query.loss + bf16_sum_error(rounding_.cols) * std::sqrt(query.squares)};
}

void Bf16Filter::ask(Range queries, std::span<const double> thresholds, Bf16TileRoom& room) const {
  room.level.fill(kFloatInfinity);
  room.per_term.fill(0);
  room.column_level.fill(kFloatInfinity);
  room.column_term.fill(0);
  for (std::int64_t query = queries.begin; query < queries.end; ++query) {
    const auto i = static_cast<std::size_t>(query - queries.begin);
    const Bf16Vector& vector = queries_.of(query);
    const Bound found = bound(vector, thresholds[i]);
    room.level[i] = lowered(found.level);
    room.per_term[i] = rounded_up(found.per_term * (1 + kBf16TermError));
    if (vector.kind == VectorKind::never) continue;
    if (vector.kind == VectorKind::always) {
      room.column_level[i] = -kFloatInfinity;
      continue;
    }
    const double squares = vector.squares * (1 - bf16_sum_error(rounding_.cols));
    room.column_level[i] = lowered((squares - vector.loss * vector.loss) / 2);
    room.column_term[i] = rounded_up(vector.loss * (1 + kBf16TermError));
  }
}

// As in distance_bound, with the threshold and what the row loses in T, and L of the query. The
// bias of a row has the squares of x; what else it has makes this wider by L^2 / 2 of the row.
void Bf16Filter::ask_columns(Range rows, std::span<const double> row_thresholds,
                             Bf16TileRoom& room) const {
  room.column_bias.fill(-kFloatInfinity);
  room.per_column.fill(0);
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const auto i = static_cast<std::size_t>(row - rows.begin);
    const float bias = rows_.bias(rows.begin)[i];
    room.column_bias[i] = bias;
    if (std::isinf(bias)) continue;  // found always or never
    const double distance = most_distance(rounding_, row_thresholds[i]);
    if (distance < 0) {
      room.column_bias[i] = -kFloatInfinity;
      continue;
    }
    const double most = distance + rows_.term(rows.begin)[i];
    if (!(most < kUselessLength)) {
      room.column_bias[i] = kFloatInfinity;
      continue;
    }
    room.column_bias[i] = rounded_up(bias + most * most * (1 + kBf16TermError) / 2);
    room.per_column[i] = rounded_up(most);
  }
}

void Bf16Filter::run(const Block& block, Range queries, bool both, Bf16TileRoom& room) const {
  const Range rows = block.rows;
  room.job = {.queries = queries_.tiles().values(queries.begin),
              .query_stride = queries_.tiles().stride(),
              .rows = rows_.tiles().values(rows.begin),
              .bias = rows_.bias(rows.begin),
              .term = rows_.term(rows.begin),
              .groups = divide_up(rows.size(), kGroupRows),
              .depth = rows_.tiles().depth(),
              .level = room.level.data(),
              .per_term = room.per_term.data(),
              .column_bias = both ? room.column_bias.data() : nullptr,
              .per_column = room.per_column.data(),
              .column_term = room.column_term.data(),
              .column_level = room.column_level.data(),
              .found_rows = room.rows.data(),
              .room = kRoomPerQuery,
              .counts = {},
              .rows_from_memory = block.queries.size() <= kTileQueries};
  kernel_(room.job);
}

void Bf16Filter::survivors_of_both(const Block& block, std::span<const double> thresholds,
                                   std::span<const double> row_thresholds, Candidates& out) const {
  assert(block.rows.size() <= kMostTileRows && rows_.tiles().begins_group(block.rows.begin));
  const bool both = !row_thresholds.empty();
  Bf16TileRoom room;
  if (both) ask_columns(block.rows, row_thresholds, room);
  out.start_listed(block);
  for (std::int64_t first = block.queries.begin; first < block.queries.end; first += kTileQueries) {
    const Range queries{first, std::min(first + kTileQueries, block.queries.end)};
    ask(queries, thresholds.subspan(static_cast<std::size_t>(first - block.queries.begin)), room);
    run(block, queries, both, room);
    for (std::int64_t i = 0; i < queries.size(); ++i) {
      const std::uint32_t* const rows = room.rows.data() + i * kRoomPerQuery;
      for (std::int64_t j = 0; j < room.job.counts[i]; ++j) {
        if (rows[j] >= block.rows.size()) break;  // rows rise, up to the end of a group
        out.add(block.rows.begin + rows[j]);
      }
      out.end_query();
    }
  }
}

}  // namespace nearfield
