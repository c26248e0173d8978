#include "search/choose_device.hpp"

#include <algorithm>

#include "core/fail.hpp"
#include "device/device_name.hpp"
#include "distance/device_keys.hpp"
#include "filter/device_filter.hpp"
#include "search/engine.hpp"

namespace nearfield {
namespace {

// Of a block. Filters take fewer rows of it where a device is slow, so that it can be as large as
// pays on a fast one: at 10^11 pairs a second 134 million take a millisecond.
constexpr std::int64_t kMostQueries = 1024;
constexpr std::int64_t kMostRows = 1 << 17;
// Of a block without thresholds: all of it is brought back.
constexpr std::int64_t kFirstRows = 512;
// One brings back and selects what was found while the device works for the other.
constexpr int kThreads = 2;

TileShape blocks(const DeviceRoom& room, int threads) {
  return {.queries = 1,
          .rows = 1,
          .most_queries = std::min(kMostQueries, room.pairs),
          .most_rows = kMostRows,
          .most_pairs = kMostQueries * kMostRows,
          .most_listed = room.pairs,
          .first_rows = kFirstRows,
          .most_row_parts = threads,
          .keep_queries_together = true};
}

void check_no_stream(const Context& context, const std::string& device) {
  if (context.stream == 0) return;
  fail(ErrorCode::invalid_argument,
       "keys are float64, which {} lacks, and on the CPU, which searches instead, a stream means "
       "nothing: leave it out",
       device);
}

}  // namespace

ChosenDevice choose_device(const SearchInput& input, const Context& context, SearchShape& shape) {
  if (!on_device(context)) return {std::string(kCpu), nullptr, {}};
  const KeyDevice device = key_device(context);
  if (!device.has_float64) {
    check_no_stream(context, device.id);
    return {std::string(kCpu), nullptr,
            fmt::format("on the CPU: keys are float64, which {} lacks", device.id)};
  }
  const int threads = std::min(shape.threads, kThreads);
  auto filter = make_device_filter({.metric = input.metric,
                                    .queries = input.queries.dtype(),
                                    .rows = input.base.dtype(),
                                    .cols = shape.cols,
                                    .threads = threads},
                                   context);
  const DeviceRoom room = filter->room();
  shape.threads = threads;
  shape.tiles = blocks(room, threads);
  shape.most_batch = room.queries;
  shape.most_chunk = room.rows;
  return {device.id, std::move(filter), {}};
}

}  // namespace nearfield
