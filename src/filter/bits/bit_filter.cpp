#include "filter/bits/bit_filter.hpp"

#include <algorithm>
#include <array>

#include "core/checked.hpp"
#include "filter/bits/bit_thresholds.hpp"
#include "filter/bits/packed_rows.hpp"

namespace nearfield {
namespace {

// Interleaved rows, in an L1 of 48 KiB. For few queries in smaller pieces: while one is counted,
// the next is on its way from memory (kReadAhead), which 16 KiB would outlast.
constexpr std::int64_t kManyQueriesBytes = 16 << 10;
constexpr std::int64_t kFewQueriesBytes = 4 << 10;

std::int64_t rows_of(std::int64_t bytes, std::int64_t cols) {
  const std::int64_t blocks =
      bytes / (std::max<std::int64_t>(BitQueries::bytes_per_query(cols), 1) * kBlockRows);
  return std::max(blocks, std::int64_t{1}) * kBlockRows;
}

constexpr std::int64_t kFoundBytes = 4;  // a row, and a count

std::int64_t room_of(std::int64_t rows) { return round_up(rows, kBlockRows) + kBlockRows; }

}  // namespace

// What the kernel reads and writes.
struct BitFilter::Room {
  std::uint32_t* blocks;
  std::uint32_t* found_rows;
  std::int32_t* found_counts;
  std::int64_t per_query;
  std::array<std::int64_t, kBitQueries> found;
};

std::int64_t BitFilter::rows_at_once(std::int64_t cols) { return rows_of(kManyQueriesBytes, cols); }

std::int64_t BitFilter::scratch_bytes(std::int64_t cols, const Block& block) {
  return rows_at_once(cols) * BitQueries::bytes_per_query(cols) +
         std::min(kBitQueries, block.queries.size()) * room_of(block.rows.size()) * 2 * kFoundBytes;
}

BitFilter::Room BitFilter::room_in(Candidates& out, const Block& block) const {
  const std::int64_t cols = rows_.view.cols();
  Room room;
  room.per_query = room_of(block.rows.size());
  room.blocks = reinterpret_cast<std::uint32_t*>(out.scratch(scratch_bytes(cols, block)));
  room.found_rows = room.blocks + rows_at_once(cols) * queries_.words();
  room.found_counts = reinterpret_cast<std::int32_t*>(
      room.found_rows + std::min(kBitQueries, block.queries.size()) * room.per_query);
  return room;
}

// Piece by piece of the rows; a block that is one piece is interleaved for its first queries only.
void BitFilter::find(Range queries, const Block& block, std::span<const double> thresholds,
                     Room& room) const {
  std::array<std::int32_t, kBitQueries> below;
  for (std::int64_t query = queries.begin; query < queries.end; ++query) {
    below[static_cast<std::size_t>(query - queries.begin)] =
        most_differing(thresholds[static_cast<std::size_t>(query - block.queries.begin)],
                       rows_.view.cols()) +
        1;
  }
  room.found.fill(0);
  const bool few = block.queries.size() <= kBitQueries;
  const std::int64_t step = rows_of(few ? kFewQueriesBytes : kManyQueriesBytes, rows_.view.cols());
  for (std::int64_t first = block.rows.begin; first < block.rows.end; first += step) {
    const Range piece{first, std::min(first + step, block.rows.end)};
    const bool there = block.rows.size() <= step && queries.begin > block.queries.begin;
    if (!there) kernel_.interleave(packed_rows(rows_, piece), room.blocks);
    kernel_.find({.queries = queries_.of(queries.begin),
                  .query_count = queries.size(),
                  .blocks = room.blocks,
                  .block_count = divide_up(piece.size(), kBlockRows),
                  .words = queries_.words(),
                  .below = below.data(),
                  .first_row = static_cast<std::uint32_t>(first - block.rows.begin),
                  .found_rows = room.found_rows,
                  .found_counts = room.found_counts,
                  .room = room.per_query,
                  .found = room.found.data()});
  }
}

void BitFilter::survivors(const Block& block, std::span<const double> thresholds,
                          Candidates& out) const {
  out.start_keyed(block);
  Room room = room_in(out, block);
  for (std::int64_t first = block.queries.begin; first < block.queries.end; first += kBitQueries) {
    const Range queries{first, std::min(first + kBitQueries, block.queries.end)};
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

void BitFilterMaker::take_queries(const Piece& queries, const Piece& /*rows*/, int /*threads*/,
                                  Monitor& monitor) {
  filter_.reset();
  queries_.reset();  // first: the plan counts one batch of them
  queries_.emplace(queries, monitor);
}

TakenRows BitFilterMaker::take_rows(const Piece& rows, int /*threads*/, Monitor& /*monitor*/) {
  return {filter_.emplace(kernel_, *queries_, rows), rows.view.rows()};
}

}  // namespace nearfield
