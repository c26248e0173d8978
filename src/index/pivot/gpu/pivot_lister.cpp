#include "index/pivot/gpu/pivot_lister.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "core/checked.hpp"
#include "core/fail.hpp"
#include "core/infinity.hpp"
#include "core/make_room.hpp"

namespace nearfield {
namespace {

// Of a tile. More would not fill a device better, and keep the CPU waiting.
constexpr std::int64_t kListerQueries = 64;
// A device has room for lists of so many rows, if there are as many.
constexpr std::int64_t kLeastListRows = 1 << 16;
constexpr std::int64_t kMostListRows = 1 << 18;
// A list that does not fit is made run by run, so that one of these must: of 21 bytes a row, 22 MB.
// Of fewer rows a block of threads would hardly look at more than it has levels to add up.
constexpr std::int64_t kMostRunRows = 1 << 20;
constexpr std::int64_t kSumBytes = sizeof(std::uint32_t);
// Of a row of a list, in one buffer: the place of a pair.
constexpr std::int64_t kWidestOfAList = sizeof(std::uint64_t);

// A row's number and level; where distances are computed, also a pair that is handed over.
std::int64_t bytes_of_listed(bool keyed) {
  return kSumBytes + 1 + (keyed ? PairList::kPairBytes : 0);
}

// Beside rows and lists: what each query knows, its counts of levels, its request and total, and
// its sums of chunks; and for distances what it is itself, and how large one may be.
std::int64_t bytes_of_tile(const ListerTask& task, std::int64_t queries, std::int64_t chunks) {
  constexpr std::int64_t kReach = kMostPivotPool * sizeof(std::uint16_t);
  constexpr std::int64_t kLetters = sizeof(std::uint64_t);
  const std::int64_t own =
      task.keyed ? DeviceQueries::bytes_of_one(task.keyed->distance, task.keyed->queries) +
                       static_cast<std::int64_t>(sizeof(double))
                 : 0;
  return queries *
         (kReach + kLetters + kLevelCount * kSumBytes + 6 * kSumBytes + own + chunks * kSumBytes);
}

// Of objects that are copied whole.
std::int64_t bytes_of_objects(const ListerTask& task) {
  if (task.distance == DeviceDistance::none) return 0;
  return task.state.objects.bytes() + (task.state.objects.size() + 1) * DeviceObjects::kRowBytes;
}

}  // namespace

ListerShape ListerShape::of(const ListerTask& task, std::int64_t limit, const gpu::Facts& facts,
                            std::int64_t chunk_rows, const std::string& id) {
  const bool keyed = task.keyed.has_value();
  const std::int64_t rows = std::max<std::int64_t>(task.state.objects.size(), 1);
  const std::int64_t row_bytes = std::max<std::int64_t>(kept_row_bytes(task.state.filter), 1);
  const std::int64_t list_bytes = bytes_of_listed(keyed);
  const std::int64_t least_list = std::min(rows, kLeastListRows) * list_bytes;
  const std::int64_t copy = round_up(rows, kBoundBlock) * row_bytes + bytes_of_objects(task);
  const std::int64_t most_list = facts.largest_buffer / kWidestOfAList;
  // Of a copy always the same: searches with other limits share it.
  const std::int64_t most_run =
      std::min({facts.largest_buffer / row_bytes, most_list, kMostRunRows}) / chunk_rows *
      chunk_rows;
  // A file's last chunk of rows and the last of all need not be full.
  const std::int64_t chunks = divide_up(rows, chunk_rows) + 1;
  ListerShape shape;
  shape.list_bytes = list_bytes;
  shape.queries = std::clamp<std::int64_t>(
      std::min(std::numeric_limits<std::uint32_t>::max() / rows, task.queries), 1, kListerQueries);
  for (;; shape.queries /= 2) {
    const std::int64_t tile = bytes_of_tile(task, shape.queries, chunks);
    shape.streamed =
        copy > limit || (limit - copy) / kListers < tile + std::min(rows, most_run) * list_bytes;
    shape.limit = (shape.streamed ? limit : limit - copy) / kListers;
    // Streamed: a third for the rows, for objects, and for longer lists.
    const std::int64_t third = (shape.limit - tile - least_list) / 3;
    shape.run_rows =
        std::min(shape.streamed ? third / row_bytes / chunk_rows * chunk_rows : most_run, most_run);
    shape.run_object_bytes =
        std::min({shape.streamed ? third : DeviceObjects::kMostBytes, DeviceObjects::kMostBytes,
                  facts.largest_buffer, bytes_of_objects(task)});
    if (shape.run_rows >= chunk_rows) {
      std::int64_t taken = tile;
      if (shape.streamed) taken += shape.run_rows * row_bytes;
      if (shape.streamed && keyed) taken += shape.run_object_bytes;
      shape.list_room = std::min({(shape.limit - taken) / list_bytes, most_list,
                                  std::max(rows, kMostListRows), shape.queries * rows});
      if (shape.list_room < rows) {
        shape.run_rows = std::min(shape.run_rows, shape.list_room / chunk_rows * chunk_rows);
      }
      return shape;
    }
    if (shape.queries == 1) {
      fail(ErrorCode::memory_limit,
           "a query of {} objects takes {} bytes of {} at least, twice, but the limit is {}: raise "
           "it, or leave the device out",
           rows, tile + least_list + 3 * chunk_rows * row_bytes, id, limit);
    }
  }
}

std::int64_t ListerShape::least_room(const ListerTask& task) const {
  return std::min(task.state.objects.size(), run_rows);
}

void ListerShape::cut_lists(std::int64_t rows, const ListerTask& task) {
  list_room = std::min(list_room, std::max(rows, least_room(task)));
}

std::int64_t ListerShape::host_bytes(const ListerTask& task) const {
  const std::int64_t counts = queries * kLevelCount * kSumBytes;
  // Objects are copied there before they are sent, also where only later searches want them.
  const std::int64_t staged = task.distance == DeviceDistance::none ? 0 : run_object_bytes;
  // Without keys, all rows of a query are together.
  const std::int64_t listed = task.keyed
                                  ? list_room * ListedKeys::kHostBytesOfARow
                                  : std::max(list_room, task.state.objects.size()) * list_bytes;
  return counts + staged + listed;
}

PivotLister::PivotLister(const ListerTask& task, gpu::Device& device,
                         std::unique_ptr<gpu::Queue> queue, std::string id,
                         const ListerShape& shape, std::shared_ptr<const MetricDeviceCopy> copy)
    : state_(task.state),
      device_(device),
      id_(std::move(id)),
      shape_(shape),
      least_(shape.least_room(task)),
      copy_(std::move(copy)),
      runs_(kept_runs(state_.filter, state_.objects.size(), shape.run_rows)),
      queue_(std::move(queue)) {
  first_chunks_.push_back(0);
  for (const Range& run : runs_) {
    first_chunks_.push_back(first_chunks_.back() +
                            divide_up(run.size(), LevelStep::chunk_rows(*queue_)));
  }
  if (task.keyed) {
    keys_.emplace(state_, *task.keyed, device_, *queue_,
                  copy_ != nullptr ? &copy_->objects : nullptr, shape.run_object_bytes);
  }
  reserve();
}

PivotLister::~PivotLister() { const gpu::WaitAtEnd wait(*queue_); }

void PivotLister::set_bounds(const ObjectBounds& bounds) {
  bounds_ = &bounds;
  step_.emplace(state_.filter, bounds.slots(), *queue_);
}

// No work that uses it may be queued.
void PivotLister::make_room_in(std::unique_ptr<gpu::Buffer>& buffer, std::int64_t bytes) {
  if (buffer != nullptr && buffer->bytes() >= bytes) return;
  buffer.reset();
  buffer = device_.allocate(bytes);
}

// What every search needs.
void PivotLister::reserve() {
  const gpu::WaitAtEnd wait(*queue_);
  make_room_in(reaches_,
               shape_.queries * kMostPivotPool * static_cast<std::int64_t>(sizeof(std::uint16_t)));
  make_room_in(letters_, shape_.queries * static_cast<std::int64_t>(sizeof(std::uint64_t)));
  make_room_in(counts_, shape_.queries * kLevelCount * kSumBytes);
  make_room_in(requests_, shape_.queries * RequestBuffers::kWords * kSumBytes);
  make_room_in(sums_, shape_.queries * first_chunks_.back() * kSumBytes);
  make_room_in(device_totals_, shape_.queries * kSumBytes);
  make_room_in(device_starts_, (shape_.queries + 1) * kSumBytes);
  make_room_in(listed_rows_, least_ * kSumBytes);
  make_room_in(listed_levels_, least_);
  if (keys_) keys_->reserve(least_);
  if (copy_ != nullptr) return;
  const auto longest = std::ranges::max_element(runs_, {}, &Range::size);
  run_at(longest - runs_.begin());
}

// False where the device has no room for so many: fewer are tried then.
bool PivotLister::make_lists(std::int64_t rows) {
  if (rows > shape_.list_room) return false;
  if (rows == 0) return true;
  try {
    make_room_in(listed_rows_, rows * kSumBytes);
    make_room_in(listed_levels_, rows);
    if (keys_) keys_->reserve(rows);
    return true;
  } catch (const gpu::OutOfMemory&) {  // it has less than it says
    // Of a run's there was room before.
    shape_.list_room = rows > least_ ? std::max(rows / 2, least_) : rows / 2;
    return false;
  }
}

void PivotLister::refuse_list(const LevelRequest& request, std::int64_t rows) const {
  fail(ErrorCode::memory_limit,
       "query {} leaves {} objects of a run to look at, whose list takes {} bytes of {}, and it "
       "has {} for that: raise its limit, or leave the device out",
       request.query, rows, rows * shape_.list_bytes, id_, shape_.list_room * shape_.list_bytes);
}

// Until the queue is waited for, the values must stay.
template <class Value>
void PivotLister::write(std::span<const Value> values, std::unique_ptr<gpu::Buffer>& to) {
  const auto bytes = static_cast<std::int64_t>(values.size_bytes());
  make_room_in(to, bytes);
  queue_->write(*to, values.data(), {1, bytes, bytes, bytes});
}

const KeptRun& PivotLister::run_at(std::int64_t i) {
  const auto at = static_cast<std::size_t>(i);
  if (copy_ != nullptr) return copy_->runs[at];
  streamed_.copy(state_.filter, runs_[at], device_, *queue_);
  return streamed_;
}

void PivotLister::start(Range queries) {
  queries_ = queries;
  const auto first = static_cast<std::size_t>(queries.begin - bounds_->first_query());
  const auto count = static_cast<std::size_t>(queries.size());
  host_reaches_.assign(count * kMostPivotPool, 0);
  if (!bounds_->reaches().empty()) {
    auto to = host_reaches_.begin();
    for (const PivotReach& reach : bounds_->reaches().subspan(first, count)) {
      for (std::size_t pivot = 0; pivot < reach.above.size(); ++pivot) {
        *to++ = static_cast<std::uint16_t>(reach.above[pivot] | reach.below[pivot] << 8);
      }
    }
  }
  const gpu::WaitAtEnd wait(*queue_);
  write(std::span<const std::uint16_t>(host_reaches_), reaches_);
  const std::vector<std::byte> none(count * sizeof(std::uint64_t));
  write(bounds_->signatures().empty()
            ? std::span<const std::byte>(none)
            : bounds_->signatures().subspan(first * sizeof(std::uint64_t), none.size()),
        letters_);
  queue_->wait();
  if (keys_) keys_->start(queries);
}

void PivotLister::count(std::span<std::uint32_t> counts) {
  const auto bytes = static_cast<std::int64_t>(counts.size_bytes());
  make_room_in(counts_, bytes);
  const gpu::WaitAtEnd wait(*queue_);
  queue_->fill(*counts_, 0);
  for (std::int64_t i = 0; i < std::ssize(runs_); ++i) {
    step_->count_levels(run_at(i), {*reaches_, *letters_}, queries_.size(), *counts_);
  }
  queue_->read(*counts_, counts.data(), {1, bytes, bytes, bytes});
  queue_->wait();
}

void PivotLister::list(std::span<const LevelRequest> requests, const FallingKeys* falling,
                       const Take& take) {
  falling_ = falling;
  list_in(all_runs(), requests, take);
}

void PivotLister::list_in(Range runs, std::span<const LevelRequest> requests, const Take& take) {
  const RequestBuffers buffers = count_requested(runs, requests);
  const auto rows_of = [&](Range some) {
    return std::int64_t{starts_[static_cast<std::size_t>(some.end)]} -
           starts_[static_cast<std::size_t>(some.begin)];
  };
  struct TooLong {
    std::size_t request;
    std::int64_t rows;
  };
  std::vector<TooLong> too_long;
  for (std::int64_t first = 0; first < buffers.count;) {
    Range some{first, first + 1};
    while (some.end < buffers.count && rows_of({first, some.end + 1}) <= shape_.list_room) {
      ++some.end;
    }
    if (make_lists(rows_of(some))) {
      list_some(runs, requests, some, buffers, take);
    } else if (some.size() > 1) {
      continue;  // fewer of them
    } else {
      too_long.push_back({static_cast<std::size_t>(first), rows_of(some)});
    }
    first = some.end;
  }
  for (const TooLong& one : too_long) {
    if (runs.size() == 1) refuse_list(requests[one.request], one.rows);
    list_by_runs(requests[one.request], one.rows, take);
  }
}

// Keys are taken as they come. Rows without keys are verified in the order of their levels, for
// which the host must have them all.
void PivotLister::list_by_runs(const LevelRequest& request, std::int64_t listed, const Take& take) {
  const std::span requests(&request, 1);
  if (!keys_) {
    make_room(rows_, static_cast<std::size_t>(listed));
    make_room(levels_, static_cast<std::size_t>(listed));
  }
  std::uint32_t at = 0;
  for (std::int64_t run = 0; run < std::ssize(runs_); ++run) {
    if (keys_) {
      list_in({run, run + 1}, requests, take);
      continue;
    }
    const RequestBuffers buffers = count_requested({run, run + 1}, requests);
    const std::uint32_t own = starts_.back();
    if (own == 0) continue;
    if (!make_lists(own)) refuse_list(request, own);
    const gpu::WaitAtEnd wait(*queue_);
    fill_lists({run, run + 1}, {0, 1}, buffers);
    read_listed(own, at);
    at += own;
  }
  if (keys_) return;
  const std::array<std::uint32_t, 2> starts{0, at};
  take({.requests = requests, .starts = starts, .rows = rows_, .levels = levels_, .keys = {}});
}

// Then `starts_` say where the rows of each begin in the list of all.
RequestBuffers PivotLister::count_requested(Range runs, std::span<const LevelRequest> requests) {
  host_requests_.clear();
  for (const LevelRequest& request : requests) {
    host_requests_.push_back(static_cast<std::uint32_t>(request.query - queries_.begin));
    host_requests_.push_back(static_cast<std::uint32_t>(request.low | request.high << 8));
    host_requests_.push_back(static_cast<std::uint32_t>(request.first_row));
  }
  const std::int64_t count = std::ssize(requests);
  const std::int64_t chunks = first_chunk(runs.end) - first_chunk(runs.begin);
  make_room_in(sums_, count * chunks * kSumBytes);
  make_room_in(device_totals_, count * kSumBytes);
  make_room(totals_, requests.size());
  const gpu::WaitAtEnd wait(*queue_);
  write(std::span<const std::uint32_t>(host_requests_), requests_);
  const RequestBuffers buffers{*requests_, count, *sums_, chunks};
  for (std::int64_t run = runs.begin; run < runs.end; ++run) {
    step_->count_rows(run_at(run), first_chunk(run) - first_chunk(runs.begin),
                      {*reaches_, *letters_}, buffers);
  }
  step_->sum_counts(buffers, *device_totals_);
  queue_->read(*device_totals_, totals_.data(),
               {1, count * kSumBytes, count * kSumBytes, count * kSumBytes});
  queue_->wait();
  starts_.assign(1, 0);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    starts_.push_back(starts_.back() + totals_[i]);
  }
  write(std::span<const std::uint32_t>(starts_), device_starts_);
  queue_->wait();
  return buffers;
}

// There is room for their lists.
void PivotLister::list_some(Range runs, std::span<const LevelRequest> requests, Range some,
                            const RequestBuffers& buffers, const Take& take) {
  const auto first = static_cast<std::size_t>(some.begin);
  const auto count = static_cast<std::size_t>(some.size());
  std::vector<std::uint32_t> starts;
  for (std::size_t i = 0; i <= count; ++i) starts.push_back(starts_[first + i] - starts_[first]);
  const std::int64_t listed = starts.back();
  const gpu::WaitAtEnd wait(*queue_);
  if (listed > 0) fill_lists(runs, some, buffers);
  if (!keys_ || listed == 0) {
    make_room(rows_, starts.back());
    make_room(levels_, starts.back());
    if (listed > 0) read_listed(listed, 0);
    take({.requests = requests.subspan(first, count),
          .starts = starts,
          .rows = rows_,
          .levels = levels_,
          .keys = {}});
    return;
  }
  take_keys(requests, some, take);
}

// Before there are thresholds that fall, the first rows of each list are taken alone, then 16 times
// as many by the thresholds they give: of a list in no order, of which the k nearest are asked for,
// each part but the first then has some 16 k that come back. Streamed objects come once for all.
void PivotLister::take_keys(std::span<const LevelRequest> requests, Range some, const Take& take) {
  constexpr std::int64_t kPartGrowth = 16;
  std::vector<LevelRequest> newest(requests.begin(), requests.end());
  const auto own = std::span(newest).subspan(static_cast<std::size_t>(some.begin),
                                             static_cast<std::size_t>(some.size()));
  const auto totals = std::span<const std::uint32_t>(totals_).subspan(
      static_cast<std::size_t>(some.begin), own.size());
  const std::int64_t longest = std::ranges::max(totals);
  const bool in_parts = falling_ != nullptr && copy_ != nullptr &&
                        std::ranges::any_of(own, [](const LevelRequest& request) {
                          return request.most_key == kInfinity;
                        });
  Range part{0, in_parts ? falling_->first_rows : longest};
  while (part.begin < longest) {
    part.end = std::min(part.end, longest);
    std::int64_t computed = 0;
    for (const std::int64_t total : totals) {
      computed += std::min(total, part.end) - std::min(total, part.begin);
    }
    const ListedKeys::Found found =
        keys_->find(newest, {*requests_, *device_starts_, *listed_rows_}, {some, part, computed});
    take({.requests = own,
          .starts = found.starts,
          .rows = found.rows,
          .levels = {},
          .keys = found.keys,
          .computed = computed});
    part = {part.end, kPartGrowth * part.end};
    if (part.begin >= longest) return;
    for (LevelRequest& request : own) request.most_key = falling_->most_key(request.query);
  }
}

void PivotLister::fill_lists(Range runs, Range some, const RequestBuffers& buffers) {
  for (std::int64_t run = runs.begin; run < runs.end; ++run) {
    step_->list_rows(run_at(run), first_chunk(run) - first_chunk(runs.begin),
                     {*reaches_, *letters_}, buffers,
                     {*device_starts_, some, *listed_rows_, *listed_levels_});
  }
}

void PivotLister::read_listed(std::int64_t count, std::size_t to) {
  const std::int64_t bytes = count * kSumBytes;
  queue_->read(*listed_rows_, rows_.data() + to, {1, bytes, bytes, bytes});
  queue_->read(*listed_levels_, levels_.data() + to, {1, count, count, count});
  queue_->wait();
}

}  // namespace nearfield
