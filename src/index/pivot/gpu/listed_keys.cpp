#include "index/pivot/gpu/listed_keys.hpp"

#include <algorithm>

#include "core/fail.hpp"
#include "core/make_room.hpp"
#include "object/object_verifier.hpp"

namespace nearfield {

ListedKeys::ListedKeys(const MetricState& state, const KeyedSearch& search, gpu::Device& device,
                       gpu::Queue& queue, const std::vector<DeviceObjects>* copies,
                       std::int64_t run_bytes)
    : state_(state),
      search_(search),
      kernel_(object_kernel(*state.metric, device)),
      device_(device),
      queue_(queue),
      copies_(copies) {
  if (copies != nullptr) return;
  runs_ = object_runs(state.objects, run_bytes);
  for (const Range& run : runs_) {
    const std::int64_t first = std::ssize(state.objects.view(run.begin));
    if (run.size() > 1 || first + 2 * DeviceObjects::kRowBytes <= run_bytes) continue;
    fail(
        ErrorCode::memory_limit,
        "an object takes {} bytes, and a run of objects may take {} of the device: raise its limit",
        first, run_bytes);
  }
  // Room for one, as long as less can be asked for.
  if (!runs_.empty()) streamed_.copy(state.objects, runs_.front(), staging_, device, queue);
}

void ListedKeys::reserve(std::int64_t rows) {
  if (list_ && list_->most >= rows) return;
  list_.reset();
  list_.emplace(device_, rows);
}

void ListedKeys::start(Range queries) {
  queries_.copy(search_.distance,
                search_.queries.subspan(static_cast<std::size_t>(queries.begin),
                                        static_cast<std::size_t>(queries.size())),
                device_, queue_);
}

ListedKeys::Found ListedKeys::find(std::span<const LevelRequest> requests, const Lists& lists,
                                   const Asked& asked) {
  host_most_.clear();
  for (const LevelRequest& request : requests) host_most_.push_back(request.most_key);
  const auto most_bytes = static_cast<std::int64_t>(host_most_.size() * sizeof(double));
  if (most_ == nullptr || most_->bytes() < most_bytes) most_ = device_.allocate(most_bytes);
  const gpu::WaitAtEnd wait(queue_);
  queue_.write(*most_, host_most_.data(), {1, most_bytes, most_bytes, most_bytes});
  queue_.fill(*list_->count, 0);
  const ListedBuffers buffers{lists.rows, lists.starts, lists.requests,   *most_,
                              asked.some, asked.part,   asked.part.size()};
  run_kernels(buffers, asked.rows);
  read_found();
  sort_by_request(requests.subspan(static_cast<std::size_t>(asked.some.begin),
                                   static_cast<std::size_t>(asked.some.size())));
  return {starts_, rows_, keys_};
}

void ListedKeys::run_kernels(const ListedBuffers& listed, std::int64_t rows) {
  if (copies_ != nullptr) {
    for (const DeviceObjects& objects : *copies_) {
      run_object_distances(queue_, kernel_, queries_, objects, listed, *list_);
    }
    return;
  }
  for (const Range& run : runs_of(listed.rows, rows)) {
    streamed_.copy(state_.objects, run, staging_, device_, queue_);
    run_object_distances(queue_, kernel_, queries_, streamed_, listed, *list_);
  }
}

// Those that a listed row is in: the others need not come.
std::vector<Range> ListedKeys::runs_of(const gpu::Buffer& listed, std::int64_t rows) {
  make_room(listed_, static_cast<std::size_t>(rows));
  const auto bytes = rows * static_cast<std::int64_t>(sizeof(std::uint32_t));
  queue_.read(listed, listed_.data(), {1, bytes, bytes, bytes});
  queue_.wait();
  std::vector<bool> needed(runs_.size());
  std::size_t run = 0;
  for (const std::int64_t row : listed_) {
    if (row < runs_[run].begin) run = 0;  // of the next request: they rise within one
    while (row >= runs_[run].end) ++run;
    needed[run] = true;
  }
  std::vector<Range> found;
  for (run = 0; run < runs_.size(); ++run) {
    if (needed[run]) found.push_back(runs_[run]);
  }
  return found;
}

void ListedKeys::read_found() {
  std::uint32_t count = 0;
  queue_.read(*list_->count, &count);
  queue_.wait();
  make_room(places_, count);
  make_room(found_keys_, count);
  if (count == 0) return;
  const auto bytes = static_cast<std::int64_t>(count * sizeof(std::uint64_t));
  queue_.read(*list_->places, places_.data(), {1, bytes, bytes, bytes});
  queue_.read(*list_->keys, found_keys_.data(), {1, bytes, bytes, bytes});
  queue_.wait();
}

// Without objects that were removed: what their distances are, and whether the metric takes them,
// does not matter.
void ListedKeys::sort_by_request(std::span<const LevelRequest> requests) {
  const std::span<const std::uint64_t> live = state_.ids.live_bits();
  by_request_.sort(places_, std::ssize(requests));
  starts_.assign(1, 0);
  reserve_room(rows_, places_.size());
  reserve_room(keys_, places_.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    for (const std::uint32_t pair : by_request_.of(static_cast<std::int64_t>(i))) {
      const auto row = static_cast<std::uint32_t>(places_[pair]);
      if (!live.empty() && (live[row / 64] >> (row % 64) & 1) == 0) continue;
      rows_.push_back(row);
      keys_.push_back(found_keys_[pair]);
    }
    const std::size_t begin = starts_.back();
    const auto own = std::span(keys_).subspan(begin);
    compute_unknown(requests[i], std::span(rows_).subspan(begin), own);
    settle_distances(*state_.metric, requests[i].most_key, own);
    starts_.push_back(static_cast<std::uint32_t>(rows_.size()));
  }
}

// Those of -1, on the CPU, some at a time.
void ListedKeys::compute_unknown(const LevelRequest& request, std::span<const std::uint32_t> rows,
                                 std::span<double> keys) const {
  constexpr std::size_t kMostAtOnce = 1024;
  std::vector<std::size_t> unknown;
  std::vector<ObjectView> objects;
  std::vector<double> distances;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (keys[i] < 0) {
      unknown.push_back(i);
      objects.push_back(state_.objects.view(rows[i]));
    }
    if (objects.empty() || (objects.size() < kMostAtOnce && i + 1 < rows.size())) continue;
    distances.resize(objects.size());
    state_.metric->distances(search_.queries[static_cast<std::size_t>(request.query)], objects,
                             request.most_key, search_.isa, distances);
    for (std::size_t j = 0; j < unknown.size(); ++j) keys[unknown[j]] = distances[j];
    unknown.clear();
    objects.clear();
  }
}

}  // namespace nearfield
