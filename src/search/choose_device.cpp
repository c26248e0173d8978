#include "search/choose_device.hpp"

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "core/fail.hpp"
#include "core/tasks.hpp"
#include "device/device_name.hpp"
#include "device/tuning_in_use.hpp"
#include "distance/device_keys.hpp"
#include "filter/device_filter.hpp"
#include "filter/shared_filter.hpp"
#include "search/allowed_rows.hpp"
#include "search/choose_filter.hpp"
#include "search/engine.hpp"
#include "search/query_batch.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kMostBlockRows = 1 << 17;  // of a block
// One brings back and selects what was found while the device works for the other.
constexpr int kThreads = 2;
constexpr std::int64_t kLeastFound = 1024;  // whatever the limit
// Of a block that a CPU shares and has no tiles for.
constexpr std::int64_t kCpuRows = 1024;

TileShape blocks(const DeviceRoom& room, std::int64_t batch, std::int64_t most_queries,
                 std::int64_t row_parts) {
  const std::int64_t most = std::min({batch, most_queries, room.block_queries});
  const std::int64_t unit = most >= room.query_unit ? room.query_unit : 1;
  return {.queries = unit,
          .rows = 1,
          .most_queries = most / unit * unit,
          .most_rows = kMostBlockRows,
          .most_pairs = batch * kMostBlockRows,
          .most_listed = room.pairs,
          .listed_bytes = kFoundHostBytes,
          .first_rows = std::min(room.first_rows, kMostBlockRows),
          .most_row_parts = row_parts,
          .keep_queries_together = true};
}

void check_no_stream(const Context& context, const std::string& device) {
  if (context.stream == 0) return;
  fail(ErrorCode::invalid_argument,
       "keys are float64, which {} lacks, and on the CPU, which searches instead, a stream means "
       "nothing: leave it out",
       device);
}

class DeviceChoice {
 public:
  DeviceChoice(const SearchInput& input, const Context& context, Isa isa, const Tuning& tuning,
               SearchShape& shape)
      : input_(input), context_(context), isa_(isa), tuning_(tuning), shape_(shape) {}

  ChosenDevice on_cpu(std::string note) {
    return {std::string(kCpu), choose_filter(input_, isa_, tuning_, shape_), std::move(note)};
  }

  // Rows one by one cost less than all of them where few may be found.
  bool few_allowed() const {
    return allowed_rows(input_.filter, shape_.rows) < shape_.rows / tuning_.tiles.most_forbidden;
  }

  ChosenDevice on_one() {
    const KeyDevice device = key_device(context_);
    if (!device.has_float64) {
      check_no_stream(context_, device.id);
      return on_cpu(fmt::format("on the CPU: keys are float64, which {} lacks", device.id));
    }
    shape_.threads = std::min(shape_.threads, kThreads);
    auto filter = make_device_filter(search(shape_.threads), context_);
    const TuningInUse tuning = tuning_of(device.name, device.driver);
    limit(filter->room(), query_batch(tuning.table.get()), shape_.threads);
    return {device.id, std::move(filter), tuning.note};
  }

  // Each device is asked by as many threads as one that searches alone, and the CPU by as many as
  // it would have.
  ChosenDevice on_several(std::span<const std::string_view> names) {
    std::vector<SharedFilterMember> members;
    DeviceRoom room{kMaxRows, kMaxRows, kMaxRows, kMaxRows, 1, kMaxRows};
    bool with_cpu = false;
    for (const std::string_view name : names) {
      if (name == kCpu) {
        with_cpu = true;
      } else {
        members.push_back(member_on(std::string(name), room));
      }
    }
    if (with_cpu) members.push_back(member_on_cpu());
    const TileShape of_cpu = shape_.tiles.value_or(TileShape{});
    limit(room, query_batch(nullptr), kMaxThreads);
    // Each thread has queries of its own, and whole tiles of those that the CPU has tiles for.
    TileShape& tiles = *shape_.tiles;
    tiles.keep_queries_together = false;
    tiles.queries = with_cpu ? of_cpu.queries : 1;
    tiles.rows = with_cpu ? of_cpu.rows : 1;
    tiles.most_queries =
        std::max(tiles.most_queries / tiles.queries, std::int64_t{1}) * tiles.queries;
    return share(std::move(members));
  }

 private:
  DeviceSearch search(int threads) const {
    return {.metric = input_.metric,
            .queries = input_.queries.dtype(),
            .rows = input_.base.dtype(),
            .cols = shape_.cols,
            .query_count = shape_.queries,
            .row_count = shape_.rows,
            .first_of_any = shape_.first_of_any,
            .threads = threads,
            .most_found = most_found(threads),
            .method = tuning_.device.method,
            .least_half_cols = tuning_.device.least_half_cols};
  }

  // An eighth of the limit: with what else a block takes, less than the quarter that blocks may.
  std::int64_t most_found(int threads) const {
    if (!shape_.memory_limit) return kMaxRows;
    const std::int64_t left = *shape_.memory_limit - shape_.result_bytes - shape_.fixed_bytes;
    return std::max<std::int64_t>(left / 8 / threads / kFoundHostBytes, kLeastFound);
  }

  // As of tiles on the CPU: what is selected between two looks at the monitor.
  std::int64_t most_queries() const {
    return std::max<std::int64_t>(
        tuning_.tiles.most_selected_items / std::max<std::int64_t>(shape_.threshold_rank, 1), 1);
  }

  std::int64_t query_batch(const TuningTable* table) const {
    return tuning_.device.query_batch.value_or(choose_query_batch(
        table, {shape_.queries, shape_.rows, shape_.cols, shape_.threshold_rank}));
  }

  void limit(const DeviceRoom& room, std::int64_t batch, std::int64_t row_parts) {
    shape_.tiles = blocks(room, batch, most_queries(), row_parts);
    shape_.query_filter_bytes += kQueryHostBytes + kThreads * kFirstHostBytes * shape_.first_of_any;
    shape_.most_batch = room.queries;
    shape_.most_chunk = room.rows;
  }

  SharedFilterMember member_on(std::string name, DeviceRoom& room) {
    Context context = context_;
    context.device = std::move(name);
    const KeyDevice device = key_device(context);
    if (!device.has_float64) {
      fail(ErrorCode::unsupported,
           "keys are float64, which {} lacks: leave it out of the devices '{}'", device.id,
           context_.device);
    }
    auto filter = make_device_filter(search(kThreads), context);
    const std::string note = tuning_of(device.name, device.driver).note;
    if (!note.empty()) note_ += (note_.empty() ? "" : "; ") + device.id + ": " + note;
    const DeviceRoom own = filter->room();
    room = {.queries = std::min(room.queries, own.queries),
            .rows = std::min(room.rows, own.rows),
            .pairs = std::min(room.pairs, own.pairs),
            .block_queries = std::min(room.block_queries, own.block_queries),
            .query_unit = std::max(room.query_unit, own.query_unit),
            .first_rows = std::min(room.first_rows, own.first_rows)};
    return {.name = device.id,
            .maker = std::move(filter),
            .callers = kThreads,
            .may_fail = true,
            .most_rows = kMostBlockRows};
  }

  // What its filter needs stays in the shape.
  SharedFilterMember member_on_cpu() {
    const int threads = shape_.threads;
    auto filter = choose_filter(input_, isa_, tuning_, shape_);
    return {.name = std::string(kCpu),
            .maker = std::move(filter),
            .callers = threads,
            .most_rows = shape_.tiles ? shape_.tiles->most_rows : kCpuRows,
            .row_unit = shape_.tiles ? shape_.tiles->rows : 1};
  }

  ChosenDevice share(std::vector<SharedFilterMember> members) {
    std::string id;
    int threads = 0;
    for (const SharedFilterMember& member : members) {
      id += (id.empty() ? "" : ",") + member.name;
      threads += member.callers;
    }
    shape_.threads = std::min(threads, kMaxThreads);
    return {id, std::make_unique<SharedFilterMaker>(std::move(members)), note_};
  }

  const SearchInput& input_;
  const Context& context_;
  const Isa isa_;
  const Tuning& tuning_;
  SearchShape& shape_;
  std::string note_;  // of several devices
};

}  // namespace

ChosenDevice choose_device(const SearchInput& input, const Context& context, Isa isa,
                           const Tuning& tuning, SearchShape& shape) {
  DeviceChoice choice(input, context, isa, tuning, shape);
  if (!on_device(context)) return choice.on_cpu({});
  if (input.base.prepared() != nullptr) {
    fail(ErrorCode::unsupported,
         "a prepared base does not run on devices, got device '{}': pass its rows, or leave the "
         "device out",
         context.device);
  }
  if (choice.few_allowed()) {
    return choice.on_cpu(
        fmt::format("on the CPU: {} of {} rows may be found, which are looked at "
                    "alone",
                    allowed_rows(input.filter, shape.rows), shape.rows));
  }
  const std::vector<std::string_view> names = split_devices(context.device);
  return names.size() == 1 ? choice.on_one() : choice.on_several(names);
}

}  // namespace nearfield
