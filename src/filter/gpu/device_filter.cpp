#include "filter/device_filter.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <optional>
#include <vector>

#include "core/decode.hpp"
#include "core/fail.hpp"
#include "core/make_room.hpp"
#include "device/gpu/open.hpp"
#include "distance/settled_key.hpp"
#include "filter/gpu/byte_finder.hpp"
#include "filter/gpu/half_finder.hpp"
#include "filter/gpu/key_finder.hpp"
#include "filter/gpu/pair_finder.hpp"
#include "filter/gpu/work_pace.hpp"

namespace nearfield {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
// Pairs of a block that are found at once, where the device has the memory: 32 MiB.
constexpr std::int64_t kMostFound = std::int64_t{1} << 21;
constexpr std::int64_t kLeastFound = 256;
// Kernels number queries and rows by 32 bits, and have as many blocks.
constexpr std::int64_t kMostVectors = std::int64_t{1} << 30;
// Of rows, copied at a time: a search is to stop within 50 ms, and a bus brings some 10 GB/s.
constexpr std::int64_t kMostRowBytes = std::int64_t{256} << 20;

// What one caller at a time needs: a queue, and memory on both sides.
struct Workplace {
  Workplace(gpu::Device& device, std::int64_t most_found, std::int64_t cols)
      : found(device, most_found), pace(cols), queue(device.make_queue(0)) {}

  PairList found;
  std::unique_ptr<gpu::Buffer> limits;
  std::vector<std::byte> host_limits;
  std::vector<double> thresholds;
  std::vector<std::uint64_t> places;
  std::vector<double> keys;
  std::vector<std::int64_t> starts;  // of the pairs of each query
  std::vector<std::uint32_t> order;
  WorkPace pace;
  // The last: what it still has to do reads and writes the others.
  std::unique_ptr<gpu::Queue> queue;
};

// Lent to who asks, and made for who finds none.
class Workplaces {
 public:
  Workplaces(gpu::Device& device, std::int64_t most_found, std::int64_t cols)
      : device_(device), most_found_(most_found), cols_(cols) {}

  // With room for `least` pairs, and for as many more as the device has memory for.
  std::unique_ptr<Workplace> take(std::int64_t least) {
    const std::lock_guard lock(mutex_);
    if (!free_.empty() && free_.back()->found.most >= least) {
      std::unique_ptr<Workplace> place = std::move(free_.back());
      free_.pop_back();
      return place;
    }
    for (;;) {
      try {
        return std::make_unique<Workplace>(device_, most_found_, cols_);
      } catch (const gpu::OutOfMemory&) {
        if (most_found_ / 2 < least) throw;
        most_found_ /= 2;
      }
    }
  }

  void give_back(std::unique_ptr<Workplace> place) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(place));
  }

 private:
  gpu::Device& device_;
  std::int64_t most_found_;
  std::int64_t cols_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Workplace>> free_;
};

class DeviceFilter final : public Filter {
 public:
  DeviceFilter(gpu::Device& device, const PairFinder& finder, Workplaces& places, Piece queries,
               Piece rows, const std::vector<bool>& finite_queries)
      : device_(device),
        finder_(finder),
        places_(places),
        queries_(queries),
        rows_(rows),
        finite_queries_(finite_queries) {}

  void survivors(const Block& block, std::span<const double> thresholds,
                 Candidates& out) const override {
    std::unique_ptr<Workplace> place = places_.take(block.queries.size());
    place_limits(block, thresholds, *place);
    const auto [answered, found] = find(block, *place);
    read_found(found, *place);
    hand_over(answered, *place, out);
    places_.give_back(std::move(place));
  }

  bool certified() const override { return true; }
  std::string name() const override { return finder_.name(); }

 private:
  // A query that is not finite finds nothing.
  void place_limits(const Block& block, std::span<const double> thresholds,
                    Workplace& place) const {
    place.thresholds.assign(thresholds.begin(), thresholds.end());
    for (std::size_t i = 0; i < thresholds.size(); ++i) {
      const auto query = static_cast<std::size_t>(block.queries.begin - queries_.first) + i;
      if (!finite_queries_[query]) place.thresholds[i] = kNothing;
    }
    const std::int64_t bytes = block.queries.size() * finder_.limit_bytes();
    make_room(place.host_limits, static_cast<std::size_t>(bytes));
    finder_.write_limits(shifted(block.queries, queries_.first), place.thresholds,
                         place.host_limits.data());
    if (place.limits == nullptr || place.limits->bytes() < bytes) {
      place.limits.reset();
      place.limits = device_.allocate(bytes);
    }
    place.queue->write(*place.limits, place.host_limits.data(), {1, bytes, bytes, bytes});
  }

  struct Answer {
    Block block;
    std::int64_t found;
  };

  // Of as many rows as are looked at in time, and as few as there is room for what is found of
  // them.
  Answer find(const Block& block, Workplace& place) const {
    std::int64_t rows = place.pace.rows_of(block.queries.size(), block.rows.size());
    for (;;) {
      const Block part{block.queries, {block.rows.begin, block.rows.begin + rows}};
      std::uint32_t count = 0;
      place.pace.begin();
      finder_.find(*place.queue,
                   {shifted(part.queries, queries_.first), shifted(part.rows, rows_.first)},
                   *place.limits, place.found);
      place.queue->read(*place.found.count, &count);
      place.queue->wait();
      place.pace.end(part.pairs());
      if (count <= place.found.most) return {part, count};
      // Where they are spread evenly, a tenth less than fit.
      const double fit = 0.9 * static_cast<double>(place.found.most) / count;
      rows = std::clamp(static_cast<std::int64_t>(fit * static_cast<double>(rows)), std::int64_t{1},
                        rows - 1);
    }
  }

  static Range shifted(Range range, std::int64_t by) { return {range.begin - by, range.end - by}; }

  static void read_found(std::int64_t count, Workplace& place) {
    make_room(place.places, static_cast<std::size_t>(count));
    make_room(place.keys, static_cast<std::size_t>(count));
    if (count == 0) return;
    const gpu::CopiedRows all{1, count * 8, count * 8, count * 8};
    place.queue->read(*place.found.places, place.places.data(), all);
    place.queue->read(*place.found.keys, place.keys.data(), all);
    place.queue->wait();
  }

  // By query, in which the device has not put them.
  void hand_over(const Block& block, Workplace& place, Candidates& out) const {
    const auto queries = static_cast<std::size_t>(block.queries.size());
    place.starts.assign(queries + 1, 0);
    for (const std::uint64_t pair : place.places) ++place.starts[(pair >> 32) + 1];
    for (std::size_t i = 0; i < queries; ++i) place.starts[i + 1] += place.starts[i];
    make_room(place.order, place.places.size());
    for (std::size_t i = 0; i < place.places.size(); ++i) {
      place.order[static_cast<std::size_t>(place.starts[place.places[i] >> 32]++)] =
          static_cast<std::uint32_t>(i);
    }
    out.start_keyed(block, std::ssize(place.places));
    std::size_t next = 0;
    for (std::size_t query = 0; query < queries; ++query) {
      // Each start has moved to where the next query's was.
      for (const auto end = static_cast<std::size_t>(place.starts[query]); next < end; ++next) {
        const std::size_t i = place.order[next];
        const auto row = static_cast<std::int64_t>(place.places[i] & 0xFFFFFFFF);
        out.add(block.rows.begin + row,
                settled(place.keys[i], block.queries.begin + static_cast<std::int64_t>(query),
                        block.rows.begin + row));
      }
      out.end_query();
    }
  }

  // A query that is not finite finds nothing.
  double settled(double key, std::int64_t query, std::int64_t row) const {
    if (std::isfinite(key)) return key;
    if (!finite_queries_[static_cast<std::size_t>(query - queries_.first)]) return kNothing;
    return settled_key(key, rows_.view.dtype(), rows_.row(row), rows_.view.cols());
  }

  gpu::Device& device_;
  const PairFinder& finder_;
  Workplaces& places_;
  Piece queries_;
  Piece rows_;
  const std::vector<bool>& finite_queries_;
};

DeviceRoom room_of(const gpu::Device& device, const PairFinder& finder, const DeviceSearch& search,
                   const Context& context) {
  const gpu::Facts& facts = device.facts();
  const std::int64_t limit = context.device_memory_limit.value_or(facts.memory);
  const auto fit = [&](std::int64_t bytes, std::int64_t each) {
    return std::min(bytes, facts.largest_buffer) / std::max<std::int64_t>(each, 1);
  };
  const std::int64_t padding = finder.padding_bytes();
  const DeviceRoom room{
      .queries = std::min(fit(limit / 4 - padding, finder.query_bytes() + finder.limit_bytes()),
                          kMostVectors),
      .rows = std::min(fit(std::min(limit / 2, kMostRowBytes) - padding, finder.row_bytes()),
                       kMostVectors),
      .pairs = std::min(
          {fit(limit / 4 / search.threads, PairList::kPairBytes), kMostFound, search.most_found})};
  if (room.queries < 1 || room.rows < 1 || room.pairs < kLeastFound) {
    const std::int64_t least =
        std::max({4 * (padding + finder.query_bytes() + finder.limit_bytes()),
                  2 * (padding + finder.row_bytes()),
                  4 * search.threads * kLeastFound * PairList::kPairBytes});
    fail(ErrorCode::memory_limit,
         "a search of {} columns needs at least {} bytes on {}, and the limit is {}: raise it",
         search.cols, least, facts.name, limit);
  }
  return room;
}

std::unique_ptr<PairFinder> choose_finder(gpu::Device& device, const DeviceSearch& search) {
  if (ByteFinder::applies(search)) return std::make_unique<ByteFinder>(device, search);
  if (HalfFinder::applies(search) && search.cols >= device_tuning().least_half_cols) {
    return std::make_unique<HalfFinder>(device, search);
  }
  return std::make_unique<KeyFinder>(device, search);
}

class Maker final : public DeviceFilterMaker {
 public:
  Maker(gpu::Device& device, const DeviceSearch& search, const Context& context)
      : device_(device),
        finder_(choose_finder(device, search)),
        room_(room_of(device, *finder_, search, context)),
        queue_(device.make_queue(context.stream)),
        places_(device, room_.pairs, search.cols) {}

  DeviceRoom room() const override { return room_; }

  void take_queries(const Piece& queries, const Piece& /*rows*/, int /*threads*/,
                    Monitor& monitor) override {
    filter_.reset();
    queries_ = queries;
    finite_.assign(static_cast<std::size_t>(queries.view.rows()), true);
    for (std::int64_t i = 0; i < queries.view.rows(); ++i) {
      finite_[static_cast<std::size_t>(i)] =
          row_is_finite(queries.view.dtype(), queries.view.row(i), queries.view.cols());
      if (i % 1024 == 0) monitor.check();
    }
    const gpu::WaitAtEnd before_they_go(*queue_);
    finder_->take_queries(*queue_, queries.view);
  }

  // In halves, where the device has less memory than it said.
  TakenRows take_rows(const Piece& rows, int /*threads*/, Monitor& /*monitor*/) override {
    filter_.reset();
    std::int64_t count = rows.view.rows();
    while (!fits(rows.view.slice(0, count))) count /= 2;
    const Piece taken{rows.view.slice(0, count), rows.first};
    return {filter_.emplace(device_, *finder_, places_, queries_, taken, finite_), count};
  }

  std::string name() const override { return finder_->name(); }

 private:
  bool fits(MatrixView rows) {
    try {
      const gpu::WaitAtEnd before_they_go(*queue_);
      finder_->take_rows(*queue_, rows);
      queue_->wait();  // callers have queues of their own
      return true;
    } catch (const gpu::OutOfMemory&) {
      if (rows.rows() <= 1) throw;
      return false;
    }
  }

  gpu::Device& device_;
  std::unique_ptr<PairFinder> finder_;
  DeviceRoom room_;
  std::unique_ptr<gpu::Queue> queue_;
  Workplaces places_;
  Piece queries_{};
  std::vector<bool> finite_;
  std::optional<DeviceFilter> filter_;
};

}  // namespace

DeviceTuning& device_tuning() {
  static DeviceTuning tuning;
  return tuning;
}

std::unique_ptr<DeviceFilterMaker> make_device_filter(const DeviceSearch& search,
                                                      const Context& context) {
  return std::make_unique<Maker>(gpu::open_device(context.device).device, search, context);
}

}  // namespace nearfield
