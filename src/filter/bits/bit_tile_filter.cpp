#include "filter/bits/bit_tile_filter.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

#include <fmt/format.h>

#include "core/checked.hpp"
#include "filter/bits/bit_thresholds.hpp"
#include "filter/bits/packed_rows.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kExpandedBytes = 256 << 10;

// Nothing is lost, and nothing is added to a product.
constexpr GroupTerms kNoTerms[kMostTileRows / kGroupRows] = {};
alignas(64) constexpr std::int32_t kNoBias[kMostTileRows] = {};

}  // namespace

std::string BitTileFilter::name_of(const TileKernel& tiles) {
  return fmt::format("bits in int8 tiles, {}", tiles.name);
}

std::int64_t BitTileFilter::rows_at_once(std::int64_t cols) {
  const std::int64_t bytes = std::max<std::int64_t>(words_of(cols), 1) * kWordBits;
  return std::min(kExpandedBytes / bytes / kGroupRows * kGroupRows, kMostTileRows);
}

std::int64_t BitTileFilter::scratch_bytes(std::int64_t cols) {
  const std::int64_t bytes = words_of(cols) * (kWordBits + std::int64_t{sizeof(std::uint32_t)});
  return rows_at_once(cols) * bytes + kTileBytes;
}

const std::int8_t* BitTileFilter::expand(Range rows, std::byte* scratch) const {
  const std::int64_t words = round_up(rows.size(), kBlockRows) * queries_.words();
  auto* const bytes = reinterpret_cast<std::int8_t*>(scratch);
  auto* const blocks = reinterpret_cast<std::uint32_t*>(
      scratch + rows_at_once(rows_.view.cols()) * queries_.words() * kWordBits + kTileBytes);
  bits_.interleave(packed_rows(rows_, rows), blocks);
  bits_.expand(blocks, words, bytes);
  return bytes;
}

void BitTileFilter::run(Range queries, std::int64_t groups, const std::int8_t* bytes,
                        std::span<const double> thresholds, TileRoom& room) const {
  room.level.fill(std::numeric_limits<float>::infinity());
  room.per_loss.fill(0);
  room.per_other.fill(0);
  for (std::int64_t query = queries.begin; query < queries.end; ++query) {
    const auto i = static_cast<std::size_t>(query - queries.begin);
    // Whole numbers below 2^24, which floats hold and no kernel rounds.
    const std::int32_t most = most_differing(thresholds[i], rows_.view.cols());
    if (most >= 0) room.level[i] = static_cast<float>(queries_.ones(query) - most);
  }
  room.job = {.queries = queries_.signs(queries.begin),
              .used = queries.size(),
              .query_stride = queries_.stride(),
              .rows = bytes,
              .bias = kNoBias,
              .terms = kNoTerms,
              .groups = groups,
              .depth = queries_.words() * kWordBits / 4,
              .level = room.level.data(),
              .per_loss = room.per_loss.data(),
              .per_other = room.per_other.data(),
              .column_bias = nullptr,
              .column_level = nullptr,
              .found_rows = room.rows.data(),
              .found_sums = room.sums.data(),
              .room = kRoomPerQuery,
              .counts = {}};
  tiles_.run(room.job);
}

void BitTileFilter::survivors(const Block& block, std::span<const double> thresholds,
                              Candidates& out) const {
  assert(block.rows.size() <= rows_at_once(rows_.view.cols()));
  TileRoom room;
  out.start_keyed(block);
  const std::int8_t* bytes = expand(block.rows, out.scratch(scratch_bytes(rows_.view.cols())));
  const std::int64_t groups = divide_up(block.rows.size(), kGroupRows);
  for (std::int64_t first = block.queries.begin; first < block.queries.end; first += kTileQueries) {
    const Range queries{first, std::min(first + kTileQueries, block.queries.end)};
    run(queries, groups, bytes,
        thresholds.subspan(static_cast<std::size_t>(first - block.queries.begin),
                           static_cast<std::size_t>(queries.size())),
        room);
    for (std::int64_t q = 0; q < queries.size(); ++q) {
      for (std::int64_t i = 0; i < room.job.counts[q]; ++i) {
        const auto at = static_cast<std::size_t>(q * kRoomPerQuery + i);
        const std::int64_t row = block.rows.begin + room.rows[at];
        if (row >= block.rows.end) break;  // rows rise
        out.add(row, queries_.ones(first + q) - room.sums[at]);
      }
      out.end_query();
    }
  }
}

void BitTileFilterMaker::take_queries(const Piece& queries, const Piece& /*rows*/, int /*threads*/,
                                      Monitor& monitor) {
  filter_.reset();
  queries_.reset();  // first: the plan counts one batch of them
  queries_.emplace(queries, monitor);
}

TakenRows BitTileFilterMaker::take_rows(const Piece& rows, int /*threads*/, Monitor& /*monitor*/) {
  return {filter_.emplace(bits_, tiles_, *queries_, rows), rows.view.rows()};
}

}  // namespace nearfield
