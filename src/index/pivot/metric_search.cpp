// The searches of a MetricIndex: the loop of scan/scan_rising.hpp with one sink or another.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "core/checked.hpp"
#include "core/fail.hpp"
#include "core/infinity.hpp"
#include "core/memory_errors.hpp"
#include "core/tasks.hpp"
#include "device/device_name.hpp"
#include "distance/kernels.hpp"
#include "index/pivot/gpu/metric_devices.hpp"
#include "index/pivot/metric_state.hpp"
#include "object/object_verifier.hpp"
#include "scan/pair_sink.hpp"
#include "scan/range_sink.hpp"
#include "scan/scan_rising.hpp"
#include "scan/top_k_sink.hpp"
#include "search/neighbor_results.hpp"
#include "search/pair_results.hpp"

namespace nearfield {
namespace {

// Keys are distances, as those of this metric are.
constexpr Metric kAsTheyAre = Metric::l1;

constexpr const char* kAdvice = "ask fewer queries at a time, or for fewer results";

constexpr auto kViewBytes = static_cast<std::int64_t>(sizeof(ObjectView));

struct RisingTuning {
  // Queries that share what is kept of rows while it is in a cache. Each has a byte for every row.
  std::int64_t query_tile = 4;
  // Distances to the first objects are computed before any is known to be near; and a metric is
  // told the newest threshold once a block.
  std::int64_t first_block = 16;
  std::int64_t most_block = 256;
  // Queries whose distances to pivots are kept at a time, 2.5 KiB each. Where memory is short, the
  // first to go, down to the small one.
  std::int64_t batch = 4096;
  std::int64_t small_batch = 64;
};

class MetricSearch {
 public:
  MetricSearch(const MetricState& state, std::span<const ObjectView> queries,
               std::optional<std::int64_t> slots, const Context& context)
      : state_(state), queries_(queries), slots_(slots), context_(context) {
    for (std::size_t i = 0; i < queries.size(); ++i) {
      check_object(*state.metric, queries[i], static_cast<std::int64_t>(i));
    }
    if (slots && *slots < 0) {
      fail(ErrorCode::invalid_argument, "the number of pivots is 0 or more, got {}", *slots);
    }
    const bool signatures = state.filter.signatures() != nullptr;
    if (slots.value_or(0) > 0 && state.objects.size() > 0 &&
        ObjectFilter::pool_of(state.options, signatures) == 0) {
      fail(
          ErrorCode::invalid_argument,
          "{} pivots are to be looked at, but the index was made without any: say how many when it "
          "is made, or leave them out of the search",
          *slots);
    }
    const RisingTuning tuning;
    grid_.queries = {0, std::ssize(queries)};
    grid_.rows = state.objects.size();
    grid_.first_block = tuning.first_block;
    grid_.most_block = tuning.most_block;
    grid_.query_tile = tuning.query_tile;
    batch_ = std::clamp<std::int64_t>(grid_.queries.size(), 1, tuning.batch);
    grid_.threads = state.metric->any_thread() ? resolve_threads(context.threads) : 1;
    isa_ = isa_of(context);
    pairs_ = checked_mul(grid_.queries.size(), grid_.rows, "queries x objects");
  }

  void set_budget(std::optional<std::int64_t> budget) {
    if (!budget) return;
    if (*budget < 0) {
      fail(ErrorCode::invalid_argument, "a budget is 0 distances or more, got {}", *budget);
    }
    grid_.budget = *budget;
    if (slots_ == 0) return;
    // Pivots that leave nothing for objects would find none.
    if (*budget <= state_.filter.pivots()) {
      slots_ = 0;
    } else {
      *grid_.budget -= state_.filter.pivots();
    }
  }
  // Of the nearest, so many.
  void set_k(std::int64_t k) { first_rows_ = std::max(k, grid_.most_block); }
  void set_fixed_thresholds() { grid_.fixed_thresholds = !grid_.budget; }
  void set_ids_only() { grid_.keys_do_not_matter = true; }
  // Queries are the rows of the index, of which the call itself keeps the views.
  void set_one_set() {
    one_set_ = true;
    view_bytes_ = grid_.rows * kViewBytes;
    grid_.asking = state_.ids.live_bits();
    pairs_ =
        grid_.rows % 2 == 0 ? grid_.rows / 2 * (grid_.rows - 1) : (grid_.rows - 1) / 2 * grid_.rows;
  }

  std::int64_t pairs() const { return pairs_; }
  const Plan& plan() const { return plan_; }

  // result: bytes of what is found, kept: of what is held meanwhile. Throws memory_limit where it
  // does not fit.
  void make_plan(std::int64_t result, std::int64_t kept, const char* selector) {
    take_devices();
    const auto working = [&] {
      // A CPU that takes queries of its own has memory for them beside what verifies.
      const int sets = devices_ && devices_->cpu() ? 2 : 1;
      return kept + view_bytes_ + ObjectBounds::bytes(state_.filter, batch_) +
             sets * grid_.threads * rising_bytes(grid_) + (devices_ ? devices_->host_bytes() : 0);
    };
    const std::optional<std::int64_t> limit = context_.memory_limit;
    bool less = true;
    while (limit && less && result + working() > *limit) less = take_less();
    if (limit && result + working() > *limit) {
      fail(ErrorCode::memory_limit,
           "the search takes {} bytes, {} of them for its results, but the memory limit is {}: "
           "raise it, or {}",
           result + working(), result, *limit, kAdvice);
    }
    plan_.isa = isa_;
    plan_.filter = state_.filter.name();
    plan_.kernel = state_.metric->name();
    plan_.selector = selector;
    plan_.threads = grid_.threads;
    plan_.query_batch = std::min(batch_, grid_.queries.size());
    plan_.base_chunk = grid_.rows;
    plan_.passes = divide_up(grid_.queries.size(), grid_.query_tile);
    plan_.query_tile = grid_.query_tile;
    plan_.row_tile = grid_.most_block;
    plan_.pairs = pairs_;
    plan_.result_bytes = result;
    plan_.working_bytes = working();
    plan_.note = note_;
    if (devices_) devices_->open();
  }

  // How many results fit beside that, if there is a limit.
  std::optional<std::int64_t> room_for(std::int64_t bytes_each) const {
    if (!context_.memory_limit) return std::nullopt;
    return (*context_.memory_limit - plan_.result_bytes - plan_.working_bytes) / bytes_each;
  }

  // True if the answer is exact.
  bool run(Sink& sink, Monitor& monitor, Stats& stats) {
    RowSet allowed =
        state_.ids.live_bits().empty() ? RowSet::all() : RowSet::bitset(state_.ids.live_bits());
    if (one_set_) allowed.set_meets(Meets::later_rows);
    const ObjectVerifier verifier(*state_.metric, queries_, state_.objects, isa_);
    std::int64_t cut = 0;
    const std::int64_t all = grid_.queries.end;
    for (std::int64_t first = 0; first < all; first += batch_) {
      grid_.queries = {first, std::min(first + batch_, all)};
      const ObjectBounds bounds(state_.filter, queries_, grid_.queries, slots_, isa_, grid_.threads,
                                monitor);
      const RisingSteps steps{grid_, allowed, bounds, level_kernels(isa_), verifier, sink, monitor};
      const RisingCounts counts =
          devices_ ? devices_->scan(bounds, first_rows_, steps).counts
                   : scan_rising(grid_, allowed, bounds, steps.kernels, verifier, sink, monitor);
      stats.pairs_considered += counts.considered;
      stats.pairs_verified += counts.verified + bounds.distances();
      cut += counts.cut;
    }
    stats.plan = plan_;
    if (devices_) devices_->add_to(stats.plan);
    return cut == 0;
  }

 private:
  // Of memory, in the order of what it costs; the last queries at a time go at the end. False where
  // nothing is left.
  bool take_less() {
    const bool many = batch_ > RisingTuning().small_batch;
    if (!many && grid_.query_tile > 1) {
      grid_.query_tile /= 2;
      return true;
    }
    if (!many && devices_ && devices_->halve_lists()) return true;
    if (!many && grid_.threads > 1) {
      --grid_.threads;
      return true;
    }
    if (batch_ == 1) return false;
    batch_ /= 2;
    return true;
  }

  // A budget ends a query by the order in which distances are computed, which is the CPU's.
  void take_devices() {
    if (!on_device(context_)) return;
    ListerTask task{
        state_, std::min(batch_, grid_.queries.size()), device_distance(*state_.metric), {}};
    if (task.distance != DeviceDistance::none && !grid_.budget) {
      task.keyed = KeyedSearch{task.distance, queries_, isa_};
    }
    if (grid_.rows > 0 && (task.keyed || kept_row_bytes(state_.filter) > 0)) {
      devices_.emplace(task, context_);
      return;
    }
    open_named_devices(context_);
    if (grid_.rows == 0) {
      note_ = "on the CPU: there are no objects to look at";
      return;
    }
    note_ = fmt::format(
        "on the CPU: there are neither pivots nor signatures to look at, and the metric '{}' {}",
        state_.metric->name(),
        task.distance == DeviceDistance::none ? "runs there"
                                              : "is counted against the budget there");
  }

  const MetricState& state_;
  std::span<const ObjectView> queries_;
  std::optional<std::int64_t> slots_;
  const Context& context_;
  RisingGrid grid_;
  Isa isa_ = Isa::scalar;
  bool one_set_ = false;
  std::int64_t batch_ = 1;
  std::int64_t view_bytes_ = 0;
  std::int64_t pairs_ = 0;
  std::int64_t first_rows_ =
      RisingTuning().most_block;  // that a device lists for a query, if thresholds fall
  std::optional<MetricDevices> devices_;
  std::string note_;
  Plan plan_;
};

// Of all objects of an index, as queries.
std::vector<ObjectView> views_of(const ObjectList& objects, const Context& context) {
  const std::int64_t bytes = objects.size() * kViewBytes;
  if (context.memory_limit && bytes > *context.memory_limit) {
    fail(ErrorCode::memory_limit,
         "pairs of {} objects take {} bytes and more, but the memory limit is {}: raise it",
         objects.size(), bytes, *context.memory_limit);
  }
  return with_memory_errors(fmt::format("pairs of {} objects: ask fewer", objects.size()), [&] {
    std::vector<ObjectView> views;
    views.reserve(static_cast<std::size_t>(objects.size()));
    for (std::int64_t row = 0; row < objects.size(); ++row) views.push_back(objects.view(row));
    return views;
  });
}

void check_radius(double radius) {
  if (std::isnan(radius)) fail(ErrorCode::invalid_argument, "the radius is NaN: give a number");
}

void append_ranges(RangeSink& sink, std::int64_t queries, bool ids_only, const Monitor& monitor,
                   Ranges& result) {
  result.offsets.reserve(static_cast<std::size_t>(queries + 1));
  result.offsets.push_back(0);
  for (std::int64_t query = 0; query < queries; ++query) {
    for (const Neighbor& neighbor : sink.finish(query)) {
      result.ids.push_back(neighbor.id);
      if (ids_only) continue;
      result.keys.push_back(neighbor.key);
      result.distances.push_back(static_cast<float>(neighbor.key));
    }
    if (ids_only) std::sort(result.ids.begin() + result.offsets.back(), result.ids.end());
    result.offsets.push_back(std::ssize(result.ids));
    monitor.check();
  }
}

Pairs found_pairs(MetricSearch& search, const PairIds& ids, const MetricPairsOptions& options,
                  const Context& context) {
  if (!options.radius && !options.count) {
    fail(ErrorCode::invalid_argument, "pairs needs a radius, a count, or both");
  }
  if (options.count && *options.count < 0) {
    fail(ErrorCode::invalid_argument, "the count of pairs is 0 or more, got {}", *options.count);
  }
  const double radius = options.radius.value_or(kInfinity);
  check_radius(radius);
  std::optional<std::int64_t> most;
  if (options.count)
    most = std::min(*options.count, search.pairs());
  else
    search.set_fixed_thresholds();
  search.make_plan(most.value_or(0) * kPairResultBytes, PairCollection::bytes(most.value_or(0)),
                   most ? "closest pairs" : "all pairs within the radius");
  constexpr std::int64_t kBytesAFoundPair = 2 * sizeof(KeyedPair) + kPairResultBytes;
  FoundBudget budget(search.room_for(kBytesAFoundPair), "ask for a smaller radius or count");
  return with_memory_errors(search.plan(), kAdvice, [&] {
    PairCollection collection(
        radius, [](double) { return true; }, most, budget, ids);
    PairSink sink(collection);
    Monitor monitor(context, search.pairs());
    Pairs result;
    result.exact = search.run(sink, monitor, result.stats);
    append_pairs(collection.finish(), kAsTheyAre, monitor, result);
    monitor.finish();
    result.stats.seconds = monitor.seconds();
    return result;
  });
}

}  // namespace

Neighbors search_metric(const MetricState& state, std::span<const ObjectView> queries,
                        const MetricSearchOptions& options, const Context& context) {
  if (options.k < 0) fail(ErrorCode::invalid_argument, "k is 0 or more, got {}", options.k);
  const std::int64_t count = std::ssize(queries);
  MetricSearch search(state, queries, options.pivots, context);
  search.set_budget(options.budget);
  const std::int64_t kept = std::min(options.k, state.objects.size());
  search.set_k(kept);
  search.make_plan(result_bytes(count, options.k), count * TopKSink::bytes_per_query(kept),
                   TopK<Neighbor>::name(kept));
  return with_memory_errors(search.plan(), kAdvice, [&] {
    Monitor monitor(context, search.pairs());
    Neighbors result = nothing_found(count, options.k, kAsTheyAre, monitor);
    TopKSink sink({0, count}, kept, {.ids = state.ids.ids()});
    result.exact = search.run(sink, monitor, result.stats);
    write_results({0, count}, sink, kAsTheyAre, search.plan().threads, monitor, result);
    monitor.finish();
    result.stats.seconds = monitor.seconds();
    return result;
  });
}

Ranges metric_within(const MetricState& state, std::span<const ObjectView> queries,
                     const MetricRangeOptions& options, const Context& context) {
  check_radius(options.radius);
  const std::int64_t count = std::ssize(queries);
  MetricSearch search(state, queries, options.pivots, context);
  search.set_budget(options.budget);
  search.set_fixed_thresholds();
  if (options.ids_only && !options.budget) search.set_ids_only();
  const auto offsets = (count + 1) * static_cast<std::int64_t>(sizeof(std::int64_t));
  search.make_plan(offsets, count * static_cast<std::int64_t>(sizeof(std::vector<Neighbor>)),
                   "all within the radius");
  // In the sink and in the result, each grown by doubling.
  constexpr std::int64_t kOfAResult = 2 * (sizeof(Neighbor) + 2 * sizeof(double) + sizeof(float));
  FoundBudget budget(search.room_for(kOfAResult), "ask for a smaller radius or fewer queries");
  return with_memory_errors(search.plan(), kAdvice, [&] {
    Monitor monitor(context, search.pairs());
    RangeSink sink({0, count}, options.radius, budget, state.ids.ids());
    Ranges result;
    result.exact = search.run(sink, monitor, result.stats);
    append_ranges(sink, count, options.ids_only, monitor, result);
    monitor.finish();
    result.stats.seconds = monitor.seconds();
    return result;
  });
}

Pairs metric_pairs(const MetricState& state, const MetricPairsOptions& options,
                   const Context& context) {
  const std::vector<ObjectView> rows = views_of(state.objects, context);
  MetricSearch search(state, rows, options.pivots, context);
  search.set_one_set();
  return found_pairs(search, {state.ids.ids(), state.ids.ids(), true}, options, context);
}

Pairs metric_pairs(const MetricState& state, std::span<const ObjectView> others,
                   const MetricPairsOptions& options, const Context& context) {
  MetricSearch search(state, others, options.pivots, context);
  return found_pairs(search, {{}, state.ids.ids(), false}, options, context);
}

}  // namespace nearfield
