#include "filter/bits/bit_filter.hpp"

#include <algorithm>
#include <array>

#include "core/aligned_array.hpp"
#include "core/checked.hpp"
#include "filter/bits/bit_thresholds.hpp"
#include "filter/bits/packed_rows.hpp"

namespace nearfield {
namespace {

// Interleaved rows, in an L1 of 48 KiB beside those that are read.
constexpr std::int64_t kRowBytes = 16 << 10;

// As many as the kernels count at once.
constexpr std::int64_t kQueriesAtOnce = 8;

std::int64_t room_of(std::int64_t rows) { return round_up(rows, kBlockRows) + kBlockRows; }

}  // namespace

// What the kernel reads and writes.
struct BitFilter::Room {
  Room(std::int64_t words, std::int64_t rows_at_once, const Block& block)
      : blocks(rows_at_once * words),
        per_query(room_of(block.rows.size())),
        found_rows(std::min(kQueriesAtOnce, block.queries.size()) * per_query),
        found_counts(std::min(kQueriesAtOnce, block.queries.size()) * per_query) {}

  AlignedArray<std::uint32_t> blocks;
  std::int64_t per_query;
  AlignedArray<std::uint32_t> found_rows;
  AlignedArray<std::int32_t> found_counts;
  std::array<std::int64_t, kQueriesAtOnce> found;
};

std::int64_t BitFilter::rows_at_once(std::int64_t cols) {
  const std::int64_t bytes = std::max<std::int64_t>(BitQueries::bytes_per_query(cols), 1);
  return std::max(kRowBytes / bytes / kBlockRows, std::int64_t{1}) * kBlockRows;
}

std::int64_t BitFilter::scratch_bytes(std::int64_t cols, std::int64_t block_rows) {
  return rows_at_once(cols) * BitQueries::bytes_per_query(cols) +
         kQueriesAtOnce * room_of(block_rows) *
             static_cast<std::int64_t>(sizeof(std::uint32_t) + sizeof(std::int32_t));
}

// Piece by piece of the rows; a block that is one piece is interleaved for its first queries only.
void BitFilter::find(Range queries, const Block& block, std::span<const double> thresholds,
                     Room& room) const {
  std::array<std::int32_t, kQueriesAtOnce> below;
  for (std::int64_t query = queries.begin; query < queries.end; ++query) {
    below[static_cast<std::size_t>(query - queries.begin)] =
        most_differing(thresholds[static_cast<std::size_t>(query - block.queries.begin)],
                       rows_.view.cols()) +
        1;
  }
  room.found.fill(0);
  const std::int64_t step = rows_at_once(rows_.view.cols());
  for (std::int64_t first = block.rows.begin; first < block.rows.end; first += step) {
    const Range piece{first, std::min(first + step, block.rows.end)};
    const bool there = block.rows.size() <= step && queries.begin > block.queries.begin;
    if (!there) kernel_.interleave(packed_rows(rows_, piece), room.blocks.data());
    kernel_.find({.queries = queries_.of(queries.begin),
                  .query_count = queries.size(),
                  .blocks = room.blocks.data(),
                  .block_count = divide_up(piece.size(), kBlockRows),
                  .words = queries_.words(),
                  .below = below.data(),
                  .first_row = static_cast<std::uint32_t>(first - block.rows.begin),
                  .found_rows = room.found_rows.data(),
                  .found_counts = room.found_counts.data(),
                  .room = room.per_query,
                  .found = room.found.data()});
  }
}

void BitFilter::survivors(const Block& block, std::span<const double> thresholds,
                          Candidates& out) const {
  Room room(queries_.words(), rows_at_once(rows_.view.cols()), block);
  out.start_keyed(block);
  for (std::int64_t first = block.queries.begin; first < block.queries.end;
       first += kQueriesAtOnce) {
    const Range queries{first, std::min(first + kQueriesAtOnce, block.queries.end)};
    find(queries, block, thresholds, room);
    for (std::int64_t q = 0; q < queries.size(); ++q) {
      for (std::int64_t i = 0; i < room.found[static_cast<std::size_t>(q)]; ++i) {
        const std::int64_t at = q * room.per_query + i;
        const std::int64_t row = block.rows.begin + room.found_rows[at];
        if (row >= block.rows.end) break;  // rows rise; behind the last there are its copies
        out.add(row, room.found_counts[at]);
      }
      out.end_query();
    }
  }
}

void PreparedBitFilter::take_queries(const Piece& queries, const Piece& /*rows*/, int /*threads*/,
                                     Monitor& monitor) {
  filter_.reset();
  queries_.reset();  // first: the plan counts one batch of them
  queries_.emplace(queries, monitor);
}

const Filter& PreparedBitFilter::take_rows(const Piece& rows, int /*threads*/,
                                           Monitor& /*monitor*/) {
  return filter_.emplace(kernel_, *queries_, rows);
}

}  // namespace nearfield
