#include "filter/device_filter.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>
#include <optional>
#include <vector>

#include "core/decode.hpp"
#include "core/fail.hpp"
#include "core/make_room.hpp"
#include "core/tasks.hpp"
#include "device/gpu/open.hpp"
#include "distance/settled_key.hpp"
#include "filter/gpu/byte_finder.hpp"
#include "filter/gpu/choose_method.hpp"
#include "filter/gpu/first_thresholds.hpp"
#include "filter/gpu/half_finder.hpp"
#include "filter/gpu/key_finder.hpp"
#include "filter/gpu/pair_finder.hpp"
#include "filter/gpu/pairs_by_query.hpp"
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
// Of a block whose queries have no threshold: all of it is found, or the first of each part of it,
// or what comes before a threshold that is found first, by a matrix of so many bytes at most.
constexpr std::int64_t kFirstRowsFound = 512;
constexpr std::int64_t kFirstRowsSelected = 1 << 14;
constexpr std::int64_t kMostBoundBytes = std::int64_t{256} << 20;

// What one caller at a time needs: a queue, and memory on both sides. The queue is its own, so that
// rows may be brought beside it, and what is in it runs after the work of the context's stream.
struct Workplace {
  Workplace(gpu::Device& device, std::int64_t most_found, const WorkPace& first_pace,
            std::uintptr_t stream)
      : found(device, most_found), pace(first_pace), queue(device.make_queue(0)) {
    if (stream != 0) queue->wait_for(stream);
  }

  PairList found;
  std::unique_ptr<gpu::Buffer> limits;
  std::vector<std::byte> host_limits;
  std::vector<double> thresholds;
  std::vector<std::uint64_t> places;
  std::vector<double> keys;
  PairsByQuery by_query;
  WorkPace pace;
  // The last: what it still has to do reads and writes the others.
  std::unique_ptr<gpu::Queue> queue;
};

// Lent to who asks, and made for who finds none.
class Workplaces {
 public:
  Workplaces(gpu::Device& device, std::int64_t most_found, const WorkPace& first_pace,
             std::uintptr_t stream)
      : device_(device), most_found_(most_found), first_pace_(first_pace), stream_(stream) {}

  // With room for `least` pairs, if so many may be found at all, and for as many more as the device
  // has memory for.
  std::unique_ptr<Workplace> take(std::int64_t least) {
    const std::lock_guard lock(mutex_);
    if (!free_.empty() && free_.back()->found.most >= std::min(least, most_found_)) {
      std::unique_ptr<Workplace> place = std::move(free_.back());
      free_.pop_back();
      return place;
    }
    for (;;) {
      try {
        return std::make_unique<Workplace>(device_, most_found_, first_pace_, stream_);
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
  WorkPace first_pace_;
  std::uintptr_t stream_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Workplace>> free_;
};

class DeviceFilter final : public Filter {
 public:
  // first: null where none are looked for.
  DeviceFilter(gpu::Device& device, const PairFinder& finder, const FirstThresholds* first,
               Workplaces& places, Piece queries, Piece rows,
               const std::vector<bool>& finite_queries)
      : device_(device),
        finder_(finder),
        first_(first),
        places_(places),
        queries_(queries),
        rows_(rows),
        finite_queries_(finite_queries) {}

  void survivors(const Block& block, std::span<const double> thresholds,
                 Candidates& out) const override {
    const std::int64_t of_a_query = std::max<std::int64_t>(finder_.most_found(), 1);
    std::unique_ptr<Workplace> place = places_.take(block.queries.size() * of_a_query);
    take_thresholds(block, thresholds, *place);
    const Block part = find_first_thresholds(block, *place);
    finder_.write_limits(from_taken(part).queries, place->thresholds, limits_of(part, *place));
    send_limits(part, *place);
    const auto [answered, found] = find(part, *place);
    read_found(found, *place);
    hand_over(answered, *place, out);
    places_.give_back(std::move(place));
  }

  bool certified() const override { return true; }
  std::string name() const override { return finder_.name(); }

 private:
  // A query that is not finite finds nothing.
  void take_thresholds(const Block& block, std::span<const double> thresholds,
                       Workplace& place) const {
    place.thresholds.assign(thresholds.begin(), thresholds.end());
    for (std::size_t i = 0; i < thresholds.size(); ++i) {
      const auto query = static_cast<std::size_t>(block.queries.begin - queries_.first) + i;
      if (!finite_queries_[query]) place.thresholds[i] = kNothing;
    }
  }

  // Where a query has none, one is found of the block's first rows, which are then all of the part.
  Block find_first_thresholds(const Block& block, Workplace& place) const {
    constexpr double kNone = std::numeric_limits<double>::infinity();
    if (first_ == nullptr || std::ranges::count(place.thresholds, kNone) == 0) return block;
    const std::int64_t rows = first_->rows_of(
        block.queries.size(), place.pace.rows_of(block.queries.size(), block.rows.size()));
    if (rows == 0) return block;
    const Block part{block.queries, {block.rows.begin, block.rows.begin + rows}};
    finder_.bounded()->write_terms(from_taken(part).queries, limits_of(part, place));
    send_limits(part, place);
    return first_->lower(*place.queue, from_taken(part), *place.limits, place.thresholds) ? part
                                                                                          : block;
  }

  std::byte* limits_of(const Block& block, Workplace& place) const {
    make_room(place.host_limits,
              static_cast<std::size_t>(block.queries.size() * finder_.limit_bytes()));
    return place.host_limits.data();
  }

  void send_limits(const Block& block, Workplace& place) const {
    const std::int64_t bytes = block.queries.size() * finder_.limit_bytes();
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
      finder_.find(*place.queue, from_taken(part), *place.limits, place.found);
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

  // As finders number it.
  Block from_taken(const Block& block) const {
    const auto shifted = [](Range range, std::int64_t by) {
      return Range{range.begin - by, range.end - by};
    };
    return {shifted(block.queries, queries_.first), shifted(block.rows, rows_.first)};
  }

  static void read_found(std::int64_t count, Workplace& place) {
    make_room(place.places, static_cast<std::size_t>(count));
    make_room(place.keys, static_cast<std::size_t>(count));
    if (count == 0) return;
    const gpu::CopiedRows all{1, count * 8, count * 8, count * 8};
    place.queue->read(*place.found.places, place.places.data(), all);
    place.queue->read(*place.found.keys, place.keys.data(), all);
    place.queue->wait();
  }

  void hand_over(const Block& block, Workplace& place, Candidates& out) const {
    place.by_query.sort(place.places, block.queries.size());
    out.start_keyed(block, std::ssize(place.places));
    for (std::int64_t query = 0; query < block.queries.size(); ++query) {
      for (const std::uint32_t i : place.by_query.of(query)) {
        const auto row = static_cast<std::int64_t>(place.places[i] & 0xFFFFFFFF);
        out.add(block.rows.begin + row,
                settled(place.keys[i], block.queries.begin + query, block.rows.begin + row));
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
  const FirstThresholds* first_;
  Workplaces& places_;
  Piece queries_;
  Piece rows_;
  const std::vector<bool>& finite_queries_;
};

// What a search may take of the device.
struct Budget {
  Budget(const gpu::Device& device, const Context& context)
      : limit(context.device_memory_limit.value_or(device.facts().memory)),
        largest(device.facts().largest_buffer) {}

  std::int64_t fit(std::int64_t bytes, std::int64_t each) const {
    return std::min(bytes, largest) / std::max<std::int64_t>(each, 1);
  }
  std::int64_t of_queries() const { return limit / 4; }
  std::int64_t of_rows() const { return limit / 2; }
  // Of each thread that asks.
  std::int64_t of_pairs(int threads) const { return limit / 8 / threads; }
  std::int64_t of_bounds(int threads) const {
    return std::min({limit / 8 / threads, kMostBoundBytes, largest});
  }

  std::int64_t limit;
  std::int64_t largest;
};

// Of a base that does not fit as a whole, half as many: the next ones come while these are
// searched.
std::int64_t rows_at_once(const Budget& budget, const PairFinder& finder,
                          const DeviceSearch& search) {
  const auto fit = [&](std::int64_t bytes) {
    return budget.fit(bytes - finder.padding_bytes(), finder.row_bytes());
  };
  const std::int64_t whole = fit(std::min(budget.of_rows(), kMostRowBytes));
  return search.row_count <= whole ? whole : fit(std::min(budget.of_rows() / 2, kMostRowBytes));
}

DeviceRoom room_of(const gpu::Device& device, const PairFinder& finder, const DeviceSearch& search,
                   const Context& context) {
  const Budget budget(device, context);
  const std::int64_t padding = finder.padding_bytes();
  const std::int64_t query = finder.query_bytes() + finder.limit_bytes();
  const std::int64_t pairs =
      std::min({budget.fit(budget.of_pairs(search.threads), PairList::kPairBytes), kMostFound,
                search.most_found});
  const std::int64_t block_queries = pairs / std::max<std::int64_t>(finder.most_found(), 1);
  const DeviceRoom room{
      .queries = std::min(budget.fit(budget.of_queries() - padding, query), kMostVectors),
      .rows = std::min(rows_at_once(budget, finder, search), kMostVectors),
      .pairs = pairs,
      .block_queries = block_queries,
      .query_unit = block_queries >= finder.query_unit() ? finder.query_unit() : 1,
      .first_rows = search.first_of_any > 0 ? kFirstRowsSelected : kFirstRowsFound};
  if (room.queries < 1 || room.rows < 1 || room.pairs < kLeastFound) {
    const std::int64_t least = std::max({4 * (padding + query), 4 * (padding + finder.row_bytes()),
                                         8 * search.threads * kLeastFound * PairList::kPairBytes});
    fail(ErrorCode::memory_limit,
         "a search of {} columns needs at least {} bytes on {}, and the limit is {}: raise it",
         search.cols, least, device.facts().name, budget.limit);
  }
  return room;
}

std::unique_ptr<PairFinder> make_finder(gpu::Device& device, const DeviceSearch& search) {
  const DeviceMethod method = choose_method(device.facts(), search, device_methods(search));
  switch (method) {
    case DeviceMethod::halves:
      return std::make_unique<HalfFinder>(device, search);
    case DeviceMethod::bytes:
    case DeviceMethod::two_bytes:
      return std::make_unique<ByteFinder>(device, search, method == DeviceMethod::two_bytes);
    case DeviceMethod::keys:
    case DeviceMethod::fused:
      break;
  }
  return std::make_unique<KeyFinder>(device, search, method == DeviceMethod::fused);
}

class Maker final : public DeviceFilterMaker {
 public:
  Maker(gpu::Device& device, const DeviceSearch& search, const Context& context)
      : device_(device),
        finder_(make_finder(device, search)),
        room_(room_of(device, *finder_, search, context)),
        queue_(device.make_queue(context.stream)),
        places_(device, room_.pairs, WorkPace(search.cols, finder_->least_rows()), context.stream) {
    if (search.first_of_any > 0 && finder_->bounded() != nullptr) {
      first_.emplace(device, *finder_->bounded(), search.first_of_any,
                     Budget(device, context).of_bounds(search.threads));
    }
  }

  DeviceRoom room() const override { return room_; }

  void take_queries(const Piece& queries, const Piece& /*rows*/, int /*threads*/,
                    Monitor& monitor) override {
    bringing_.reset();  // it has the queue, as this does
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

  // Side by side with the search, whose callers have queues of their own.
  void expect_rows(const Piece& rows) override {
    if (!brings_ahead_) return;
    coming_ = rows.view;
    bringing_.emplace([this] {
      const gpu::WaitAtEnd before_they_go(*queue_);
      finder_->bring_rows(*queue_, coming_);
      queue_->wait();
    });
  }

  // In halves, where the device has less memory than it said.
  TakenRows take_rows(const Piece& rows, int /*threads*/, Monitor& /*monitor*/) override {
    filter_.reset();
    std::int64_t count = rows.view.rows();
    if (!take_expected(rows.view)) {
      while (!fits(rows.view.slice(0, count))) count /= 2;
    }
    const Piece taken{rows.view.slice(0, count), rows.first};
    return {filter_.emplace(device_, *finder_, first_ ? &*first_ : nullptr, places_, queries_,
                            taken, finite_),
            count};
  }

  std::string name() const override { return finder_->name(); }

 private:
  // False if they are not those, or did not fit beside the others: then none are brought ahead
  // again.
  bool take_expected(MatrixView rows) {
    if (!bringing_) return false;
    try {
      bringing_->wait();
      bringing_.reset();
      if (coming_.row(0) != rows.row(0) || coming_.rows() != rows.rows()) return false;
      finder_->use_rows(*queue_);
      queue_->wait();
      return true;
    } catch (const gpu::OutOfMemory&) {
      bringing_.reset();
      brings_ahead_ = false;
      return false;
    }
  }

  bool fits(MatrixView rows) {
    try {
      const gpu::WaitAtEnd before_they_go(*queue_);
      finder_->drop_rows();
      finder_->bring_rows(*queue_, rows);
      finder_->use_rows(*queue_);
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
  std::optional<FirstThresholds> first_;
  Piece queries_{};
  std::vector<bool> finite_;
  std::optional<DeviceFilter> filter_;
  MatrixView coming_{};
  bool brings_ahead_ = true;
  std::optional<Background> bringing_;  // the last: it uses the others
};

}  // namespace

std::string_view to_string(DeviceMethod method) {
  constexpr std::array<std::string_view, 5> kNames = {"keys", "fused", "halves", "bytes",
                                                      "two_bytes"};
  return kNames.at(static_cast<std::size_t>(method));
}

std::vector<DeviceMethod> device_methods(const DeviceSearch& search) {
  std::vector<DeviceMethod> all{DeviceMethod::keys};
  if (KeyFinder::fuses(search)) all.push_back(DeviceMethod::fused);
  if (HalfFinder::applies(search)) all.push_back(DeviceMethod::halves);
  if (ByteFinder::applies(search)) all.push_back(DeviceMethod::bytes);
  if (ByteFinder::applies_to_two(search)) all.push_back(DeviceMethod::two_bytes);
  return all;
}

std::unique_ptr<DeviceFilterMaker> make_device_filter(const DeviceSearch& search,
                                                      const Context& context) {
  return std::make_unique<Maker>(gpu::open_device(context.device).device, search, context);
}

}  // namespace nearfield
