#include <nearfield/metric_index.hpp>

#include <algorithm>
#include <mutex>
#include <numeric>
#include <shared_mutex>
#include <utility>

#include "core/fail.hpp"
#include "core/float_environment.hpp"
#include "core/memory_errors.hpp"
#include "core/tasks.hpp"
#include "device/device_name.hpp"
#include "index/pivot/metric_state.hpp"

namespace nearfield {
namespace {

// Pivots are chosen anew when there are so many times as many objects, so that an object's
// distances to pivots are computed 4/3 times in the long run; and not by itself beyond that many,
// of which a sample says enough.
constexpr std::int64_t kGrowthBeforeChoice = 4;
constexpr std::int64_t kMostChosenFrom = 65'536;

constexpr const char* kAddAdvice = "add fewer objects at a time";

void check_room(const MetricState& state, std::span<const ObjectView> objects,
                const Context& context) {
  if (!context.memory_limit) return;
  const std::int64_t rows = state.objects.size() + std::ssize(objects);
  std::int64_t bytes = 0;
  for (const ObjectView object : objects) bytes += std::ssize(object);
  bytes += state.objects.bytes() + std::ssize(objects) * 8;
  const std::int64_t slots = state.options.kept > 0
                                 ? 2 * state.options.kept
                                 : state.options.pool.value_or(ObjectFilter::kUsualPool);
  const std::int64_t filter = std::max(state.filter.bytes_for(rows), rows * slots);
  // Old and new are there at once where an array grows, and the new has an eighth to spare.
  const std::int64_t needed = (bytes + ObjectIds::bytes_for(rows) + filter) * 17 / 8;
  if (needed > *context.memory_limit) {
    fail(
        ErrorCode::memory_limit,
        "{} objects more take {} bytes while they are added, but the memory limit is {}: raise it, "
        "or {}",
        objects.size(), needed, *context.memory_limit, kAddAdvice);
  }
}

}  // namespace

struct MetricIndex::Impl {
  explicit Impl(MetricState its_state)
      : state(std::move(its_state)), any_thread(state.metric->any_thread()) {}

  void add(std::span<const ObjectView> objects, std::span<const std::int64_t> ids,
           const Context& context);
  void append(std::span<const ObjectView> objects, std::span<const std::int64_t> ids,
              const Context& context);
  void rebuild(const Context& context);

  // Once there are so many objects.
  bool is_to_choose(std::int64_t live) const {
    return live > 0 && state.chosen_from < kMostChosenFrom &&
           live >= kGrowthBeforeChoice * state.chosen_from;
  }

  MetricState state;
  bool read_only = false;
  const bool any_thread;            // of the metric
  mutable std::mutex asking_alone;  // held by readers that call a metric which is not of any thread
  mutable std::shared_mutex mutex;

  void check_writable() const {
    if (read_only) {
      fail(ErrorCode::invalid_argument, "the index was opened read-only: open it without");
    }
  }
};

// Held by a reader that calls the metric.
class MetricIndex::Asking {
 public:
  // Who waits for another reader is not yet one that a writer waits for.
  explicit Asking(const Impl& impl) : alone_(impl.asking_alone, std::defer_lock) {
    if (!impl.any_thread) alone_.lock();
    shared_ = std::shared_lock(impl.mutex);
  }

 private:
  std::unique_lock<std::mutex> alone_;
  std::shared_lock<std::shared_mutex> shared_;
};

void check_pivot_options(const PivotOptions& options) {
  const auto check = [](const char* what, std::int64_t value, std::int64_t least,
                        std::int64_t most) {
    if (value < least || value > most) {
      fail(ErrorCode::invalid_argument, "{} must be {} to {}, got {}", what, least, most, value);
    }
  };
  check("the number of pivots", options.pool.value_or(0), 0, kMostPivotPool);
  check("the number of pivots an object keeps", options.kept, 0, kMostPivotPool);
  check("the bits of a distance", options.bits, 1, 8);
  check("the budget of choosing", options.choice_budget, 0, std::int64_t{1} << 62);
  if (options.pool == 0 && says_of_pivots(options)) {
    fail(ErrorCode::invalid_argument,
         "0 pivots are asked for, and how these are kept or chosen is said: ask for some, or leave "
         "that out");
  }
}

PivotChoice parse_pivot_choice(std::string_view name) {
  if (name == "random") return PivotChoice::random;
  if (name == "max_separation") return PivotChoice::max_separation;
  if (name == "incremental") return PivotChoice::incremental;
  fail(ErrorCode::invalid_argument,
       "'{}' is no choice of pivots: there are random, max_separation and incremental", name);
}

void check_given(const ObjectMetric* metric) {
  if (metric == nullptr) fail(ErrorCode::invalid_argument, "an index needs a metric, got none");
  check_usable(*metric);
}

// The filter is made beside the old one, so that what fails leaves that.
void MetricIndex::Impl::append(std::span<const ObjectView> objects,
                               std::span<const std::int64_t> ids, const Context& context) {
  state.objects.reserve(objects);
  for (const ObjectView object : objects) state.objects.append(object);
  const std::int64_t live = state.ids.live() + std::ssize(objects);
  if (!is_to_choose(live)) {
    Monitor monitor(context, std::ssize(objects));
    state.filter.append(state.objects, context, monitor);
    monitor.finish();
    state.ids.add(ids);
    state.distances += std::ssize(objects) * state.filter.pivots();
    return;
  }
  std::vector<std::int64_t> rows = state.ids.live_rows();
  const std::size_t old = rows.size();
  rows.resize(static_cast<std::size_t>(live));
  std::iota(rows.begin() + static_cast<std::ptrdiff_t>(old), rows.end(), state.ids.rows());
  Monitor monitor(context, state.objects.size());
  std::int64_t distances = state.distances;
  ObjectFilter filter = ObjectFilter::made(*state.metric, state.objects, rows, state.options,
                                           context, monitor, distances);
  monitor.finish();
  state.ids.add(ids);
  state.filter = std::move(filter);
  state.chosen_from = live;
  state.distances = distances;
}

// What fails leaves the index as it was.
void MetricIndex::Impl::add(std::span<const ObjectView> objects, std::span<const std::int64_t> ids,
                            const Context& context) {
  const DefaultFloats floats;
  const std::int64_t before = state.objects.size();
  check_writable();
  check_on_cpu(context, "an index of objects");
  for (std::size_t i = 0; i < objects.size(); ++i) {
    check_object(*state.metric, objects[i], static_cast<std::int64_t>(i));
  }
  state.ids.check_new(ids);
  check_room(state, objects, context);
  state.copies = std::make_shared<DeviceCopies>();
  try {
    with_memory_errors(fmt::format("{} objects: {}", objects.size(), kAddAdvice),
                       [&] { append(objects, ids, context); });
  } catch (...) {
    state.objects.truncate(before);
    state.filter.truncate(before);
    throw;
  }
}

void MetricIndex::Impl::rebuild(const Context& context) {
  const DefaultFloats floats;
  check_writable();
  check_on_cpu(context, "an index of objects");
  MetricState next(state.metric, state.options);
  std::vector<ObjectView> objects;
  for (const std::int64_t row : state.ids.live_rows()) objects.push_back(state.objects.view(row));
  check_room(next, objects, context);
  next.objects.reserve(objects);
  for (const ObjectView object : objects) next.objects.append(object);
  next.ids = state.ids.compacted();
  Monitor monitor(context, next.objects.size());
  next.distances = state.distances;
  next.filter = ObjectFilter::made(*next.metric, next.objects, next.ids.live_rows(), next.options,
                                   context, monitor, next.distances);
  next.chosen_from = next.ids.live();
  monitor.finish();
  state = std::move(next);
}

MetricIndex::MetricIndex(std::shared_ptr<const ObjectMetric> metric, PivotOptions options) {
  check_given(metric.get());
  check_pivot_options(options);
  impl_ = std::make_unique<Impl>(MetricState(std::move(metric), options));
}

MetricIndex::MetricIndex(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
MetricIndex::MetricIndex(MetricIndex&&) noexcept = default;
MetricIndex& MetricIndex::operator=(MetricIndex&&) noexcept = default;
MetricIndex::~MetricIndex() = default;

MetricIndex MetricIndex::open(const std::string& path,
                              const std::shared_ptr<const ObjectMetric>& metric,
                              const OpenOptions& options) {
  check_given(metric.get());
  auto impl = std::make_unique<Impl>(open_metric_file(path, metric, options));
  impl->read_only = options.read_only;
  return MetricIndex(std::move(impl));
}

const ObjectMetric& MetricIndex::metric() const { return *impl_->state.metric; }

std::int64_t MetricIndex::size() const {
  const std::shared_lock lock(impl_->mutex);
  return impl_->state.ids.live();
}

MetricIndexStats MetricIndex::stats() const {
  const std::shared_lock lock(impl_->mutex);
  const MetricState& state = impl_->state;
  MetricIndexStats stats;
  stats.size = state.ids.live();
  stats.removed = state.ids.removed();
  stats.pivots = state.filter.pivots();
  stats.kept = state.filter.table() ? state.filter.table()->kept() : 0;
  stats.object_bytes = state.objects.bytes();
  stats.filter_bytes = state.filter.bytes();
  stats.id_bytes = state.ids.bytes();
  stats.signatures = state.filter.signatures() != nullptr;
  stats.distances = state.distances;
  return stats;
}

std::int64_t MetricIndex::add(std::span<const ObjectView> objects, const Context& context) {
  const std::unique_lock lock(impl_->mutex);
  const std::int64_t first = impl_->state.ids.next();
  std::vector<std::int64_t> ids(objects.size());
  std::iota(ids.begin(), ids.end(), first);
  impl_->add(objects, ids, context);
  return first;
}

void MetricIndex::add(std::span<const ObjectView> objects, std::span<const std::int64_t> ids,
                      const Context& context) {
  if (objects.size() != ids.size()) {
    fail(ErrorCode::invalid_argument, "{} objects have {} ids: give one for each", objects.size(),
         ids.size());
  }
  const std::unique_lock lock(impl_->mutex);
  impl_->add(objects, ids, context);
}

std::int64_t MetricIndex::remove(std::span<const std::int64_t> ids) {
  const std::unique_lock lock(impl_->mutex);
  impl_->check_writable();
  return impl_->state.ids.remove(ids);
}

void MetricIndex::rebuild(const Context& context) {
  const std::unique_lock lock(impl_->mutex);
  impl_->rebuild(context);
}

bool MetricIndex::contains(std::int64_t id) const {
  const std::shared_lock lock(impl_->mutex);
  return impl_->state.ids.find(id).has_value();
}

std::vector<std::byte> MetricIndex::get(std::int64_t id) const {
  const std::shared_lock lock(impl_->mutex);
  const std::optional<std::int64_t> row = impl_->state.ids.find(id);
  if (!row) fail(ErrorCode::invalid_argument, "there is no object with the id {}", id);
  const ObjectView object = impl_->state.objects.view(*row);
  return {object.begin(), object.end()};
}

std::vector<std::int64_t> MetricIndex::ids() const {
  const std::shared_lock lock(impl_->mutex);
  std::vector<std::int64_t> ids;
  for (const std::int64_t row : impl_->state.ids.live_rows()) {
    ids.push_back(impl_->state.ids.ids()[static_cast<std::size_t>(row)]);
  }
  return ids;
}

Neighbors MetricIndex::search(std::span<const ObjectView> queries,
                              const MetricSearchOptions& options, const Context& context) const {
  const Asking lock(*impl_);
  return search_metric(impl_->state, queries, options, context);
}

Ranges MetricIndex::within(std::span<const ObjectView> queries, const MetricRangeOptions& options,
                           const Context& context) const {
  const Asking lock(*impl_);
  return metric_within(impl_->state, queries, options, context);
}

Pairs MetricIndex::pairs(const MetricPairsOptions& options, const Context& context) const {
  const Asking lock(*impl_);
  return metric_pairs(impl_->state, options, context);
}

Pairs MetricIndex::pairs(std::span<const ObjectView> others, const MetricPairsOptions& options,
                         const Context& context) const {
  const Asking lock(*impl_);
  return metric_pairs(impl_->state, others, options, context);
}

void MetricIndex::save(const std::string& path, const Context& context) const {
  const Asking lock(*impl_);
  write_metric_file(impl_->state, path, context);
}

}  // namespace nearfield
