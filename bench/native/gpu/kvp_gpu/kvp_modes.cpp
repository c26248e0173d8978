#include "bench/native/gpu/kvp_gpu/kvp_modes.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include <nearfield/object_metrics.hpp>

#include "core/infinity.hpp"
#include "core/monitor.hpp"
#include "core/random.hpp"
#include "core/tasks.hpp"

namespace nearfield::bench {
namespace {

MetricState kvp_state(const PivotOptions& options, const std::vector<ObjectView>& objects) {
  MetricState state(object_metric("lp:2"), options);
  state.objects.reserve(objects);
  for (const ObjectView object : objects) state.objects.append(object);
  std::vector<std::int64_t> ids(objects.size());
  std::iota(ids.begin(), ids.end(), 0);
  state.ids.add(ids);
  const Context context;
  Monitor monitor(context, std::ssize(objects));
  state.filter = ObjectFilter::made(*state.metric, state.objects, ids, options, context, monitor,
                                    state.distances);
  return state;
}

// All modes compute the same distances.
double most_that_comes_back(KvpMode mode) {
  if (mode == KvpMode::filter_on_host) return kInfinity;
  return mode == KvpMode::no_transfer ? -1 : kKvpRadius;
}

}  // namespace

KvpVectors::KvpVectors(std::int64_t rows, std::int64_t cols, std::uint64_t seed)
    : cols_(cols), values_(place(rows * cols)) {
  for (std::int64_t i = 0; i < rows; ++i) {
    Random random(seed, static_cast<std::uint64_t>(i));
    std::generate_n(values_.begin() + i * cols, cols, [&] { return random.uniform(); });
  }
}

std::vector<ObjectView> KvpVectors::views() const {
  std::vector<ObjectView> views;
  const std::span all(values_);
  for (std::size_t i = 0; i < all.size(); i += place(cols_)) {
    views.push_back(std::as_bytes(all.subspan(i, place(cols_))));
  }
  return views;
}

KvpOnDevice::KvpOnDevice(const PivotOptions& options, const std::vector<ObjectView>& objects,
                         const std::vector<ObjectView>& queries, const Context& context)
    : queries_(queries), state_(kvp_state(options, objects)) {
  const Monitor monitor(context, 1);
  bounds_.emplace(state_.filter, queries_, Range{0, std::ssize(queries_)}, std::nullopt,
                  default_isa(), resolve_threads(0), monitor);
  const DeviceDistance distance = device_distance(*state_.metric);
  on_.emplace(plan_listers(
      {state_, std::ssize(queries_), distance, KeyedSearch{distance, queries_, default_isa()}},
      context, context.device));
  open_listers(*on_, context);
  // One alone: what is timed is not hidden behind another's work.
  on_->listers.front()->set_bounds(*bounds_);
}

KvpOnDevice::~KvpOnDevice() = default;

KvpPairs KvpOnDevice::run(KvpMode mode) {
  PivotLister& lister = *on_->listers.front();
  const int highest = bounds_->highest_level(kKvpRadius);
  KvpPairs found;
  const auto take = [&](const LevelList& list) {
    for (std::size_t i = 0; i < list.requests.size(); ++i) {
      for (std::uint32_t at = list.starts[i]; at < list.starts[i + 1]; ++at) {
        if (list.keys[at] > kKvpRadius) continue;
        found.emplace_back(list.requests[i].query, list.rows[at]);
      }
    }
  };
  std::vector<LevelRequest> requests;
  for (std::int64_t first = 0; first < std::ssize(queries_); first += lister.most_queries()) {
    const Range tile{first, std::min(first + lister.most_queries(), std::ssize(queries_))};
    lister.start(tile);
    requests.clear();
    for (std::int64_t query = tile.begin; query < tile.end; ++query) {
      requests.push_back({query, 0, highest, most_that_comes_back(mode)});
    }
    lister.list(requests, nullptr, take);
  }
  std::ranges::sort(found);
  return found;
}

KvpPairs KvpOnDevice::on_cpu() const {
  const Ranges ranges = metric_within(state_, queries_, {.radius = kKvpRadius}, {});
  KvpPairs found;
  for (std::int64_t query = 0; query < std::ssize(queries_); ++query) {
    for (std::int64_t i = ranges.offsets[place(query)]; i < ranges.offsets[place(query + 1)]; ++i) {
      found.emplace_back(query, ranges.ids[place(i)]);
    }
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace nearfield::bench
