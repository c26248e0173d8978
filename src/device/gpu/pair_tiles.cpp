#include "device/gpu/pair_tiles.hpp"

#include <algorithm>

#include "core/checked.hpp"

namespace nearfield::gpu {
namespace {

class PairTiles {
 public:
  PairTiles(TileSize all, const PairLimits& limits, PairWork& work, Monitor& monitor)
      : all_(all), limits_(limits), work_(work), monitor_(monitor) {
    tile_.rows =
        std::clamp<std::int64_t>(all.rows, 1, std::min(limits.most.rows, limits.most_pairs));
    tile_.queries = std::clamp<std::int64_t>(limits.most_pairs / tile_.rows, 1,
                                             std::min(limits.most.queries, all.queries));
  }

  TileSize tile() const { return tile_; }

  // False if tiles are as small as they get.
  bool shrink() {
    std::int64_t& larger = tile_.rows > tile_.queries ? tile_.rows : tile_.queries;
    if (larger <= limits_.least) return false;
    larger = std::max(limits_.least, divide_up(larger, 2));
    return true;
  }

  void run() {
    for (std::int64_t row = 0; row < all_.rows;) {
      const std::int64_t count = std::min(tile_.rows, all_.rows - row);
      try {
        run_rows(row, count);
        row += count;
      } catch (const OutOfMemory&) {
        if (!shrink()) throw;  // else these rows again, in smaller tiles
      }
    }
  }

 private:
  void run_rows(std::int64_t first, std::int64_t count) {
    work_.take_rows(first, count, std::min(tile_.queries, all_.queries));
    for (std::int64_t query = 0; query < all_.queries; query += tile_.queries) {
      const std::int64_t asked = std::min(tile_.queries, all_.queries - query);
      work_.run(query, asked);
      report(first * all_.queries + (query + asked) * count);
    }
  }

  // Work that is done again has been reported.
  void report(std::int64_t done) {
    if (done <= reported_) return monitor_.check();
    monitor_.advance(done - reported_);
    reported_ = done;
  }

  const TileSize all_;
  const PairLimits& limits_;
  PairWork& work_;
  Monitor& monitor_;
  TileSize tile_{};
  std::int64_t reported_ = 0;
};

}  // namespace

void run_in_tiles(const Device& device, TileSize all, const PairLimits& limits, PairWork& work,
                  const Context& context, Monitor& monitor, std::string_view what) {
  if (all.queries == 0 || all.rows == 0) return;
  PairTiles tiles(all, limits, work, monitor);
  const std::int64_t limit = context.device_memory_limit.value_or(device.facts().memory);
  while (work.bytes(tiles.tile()) > limit) {
    if (tiles.shrink()) continue;
    fail(ErrorCode::memory_limit,
         "{} of {} x {} vectors need at least {} bytes on {}, and the limit is {}: raise it", what,
         tiles.tile().queries, tiles.tile().rows, work.bytes(tiles.tile()), device.facts().name,
         limit);
  }
  tiles.run();
}

}  // namespace nearfield::gpu
