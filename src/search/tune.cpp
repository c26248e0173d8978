#include "search/tune.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/chrono.h>
#include <nearfield/knn.hpp>
#include <nearfield/version.hpp>

#include "core/fail.hpp"
#include "core/monitor.hpp"
#include "core/random.hpp"
#include "device/device_name.hpp"
#include "device/timed_rounds.hpp"
#include "device/tuning_file.hpp"
#include "device/tuning_in_use.hpp"
#include "distance/device_keys.hpp"
#include "filter/device_filter.hpp"
#include "search/knn.hpp"
#include "search/query_batch.hpp"
#include "select/device_batch.hpp"
#include "select/measure_selectors.hpp"

namespace nearfield {
namespace {

using Counts = std::span<const std::int64_t>;

constexpr std::int64_t kMostValues = kDeviceBatchBytes / std::int64_t{sizeof(float)};
constexpr std::int64_t kLeastRows = 256;  // of a search
constexpr std::int64_t kMostRows = std::int64_t{1} << 20;

// With as many queries as are selected from at a time.
std::vector<TuningShape> selections(Counts queries, Counts values) {
  std::vector<TuningShape> all;
  for (const std::int64_t n : values) {
    for (const std::int64_t q : queries) {
      for (const std::int64_t k :
           std::array<std::int64_t, 7>{1, 10, 100, 1000, 4096, n / 3, n / 2}) {
        const TuningShape shape{std::min(q, kMostValues / n), n, 1, k};
        if (std::ranges::find(all, shape) == all.end()) all.push_back(shape);
      }
    }
  }
  return all;
}

std::vector<TuningShape> searches(Counts cols, Counts queries, Counts ks) {
  std::vector<TuningShape> all;
  for (const std::int64_t d : cols) {
    for (const std::int64_t q : queries) {
      for (const std::int64_t k : ks)
        all.push_back({q, std::min(kMostRows, kMostValues / d), d, k});
    }
  }
  return all;
}

class Tuner {
 public:
  Tuner(const TuneWork& work, const Context& context)
      : work_(work),
        device_(key_device(context)),
        monitor_(context, std::ssize(work.selection) + std::ssize(work.search) +
                              std::ssize(work.query_batch)),
        on_device_(context),
        on_cpu_(context) {
    on_device_.progress = nullptr;
    on_cpu_.progress = nullptr;
    on_cpu_.device.clear();
    on_cpu_.device_memory_limit.reset();
    on_cpu_.stream = 0;
    make_values(context.seed);
  }

  TuningTable run() {
    TuningTable table{device_.name, device_.driver, std::string(version()), now(), {}, {}, {}};
    for (const TuningShape& shape : work_.selection) {
      auto point = measure_selectors(shape, values_, on_device_, monitor_);
      if (point) table.selection.push_back(std::move(*point));
      monitor_.advance(1);
    }
    // Keys are float64: without it the CPU searches.
    for (const TuningShape& shape : work_.search) {
      if (device_.has_float64) table.search.push_back(measure_methods(shape));
      monitor_.advance(1);
    }
    for (const TuningShape& shape : work_.query_batch) {
      if (device_.has_float64) table.query_batch.push_back(measure_batches(shape));
      monitor_.advance(1);
    }
    monitor_.finish();
    return table;
  }

 private:
  static std::string now() {
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  }

  // Uniform in [0, 1], as many as the largest shape has: all of them take the first.
  void make_values(std::uint64_t seed) {
    std::int64_t most = 0;
    for (const TuningShape& shape : work_.selection) {
      most = std::max(most, shape.queries * shape.rows);
    }
    for (const auto* const shapes : {&work_.search, &work_.query_batch}) {
      for (const TuningShape& shape : *shapes) {
        most = std::max(most, (shape.queries + shape.rows) * shape.cols);
      }
    }
    Random random(seed);
    values_.reserve(static_cast<std::size_t>(most));
    while (std::ssize(values_) < most) {
      if (values_.size() % (1 << 20) == 0) monitor_.check();
      values_.push_back(static_cast<float>(random.uniform()));
    }
  }

  MatrixView queries_of(const TuningShape& shape) const {
    return {values_.data(), shape.queries, shape.cols};
  }
  MatrixView base_of(const TuningShape& shape) const {
    return {values_.data() + shape.queries * shape.cols, shape.rows, shape.cols};
  }

  Neighbors search(const TuningShape& shape, const DeviceSearchTuning& way) const {
    Tuning tuning = default_tuning();
    tuning.device = way;
    return knn(MatrixRows(queries_of(shape)), MatrixRows(base_of(shape)), {.k = shape.k},
               on_device_, tuning);
  }

  // With as many rows as a search by keys takes about the seconds for, after one that is not
  // counted: drivers compile kernels when they are first used.
  TuningShape cut(TuningShape shape) const {
    const std::int64_t most = std::exchange(shape.rows, std::min(shape.rows, kLeastRows));
    const DeviceSearchTuning keys{.method = DeviceMethod::keys};
    search(shape, keys);
    while (4 * shape.rows <= most && 4 * search(shape, keys).stats.seconds < work_.seconds) {
      shape.rows *= 4;
    }
    return shape;
  }

  TuningPoint measure_methods(const TuningShape& wanted) const {
    const TuningShape shape = cut(wanted);
    std::vector<std::string_view> names;
    std::vector<DeviceSearchTuning> ways;
    for (const DeviceMethod method : device_methods({.metric = Metric::sqeuclidean,
                                     .queries = DType::f32,
                                     .rows = DType::f32,
                                     .cols = shape.cols,
                                     .query_count = shape.queries,
                                     .row_count = shape.rows,
                                     .first_of_any = shape.k,
                                     .threads = 1,
                                     .most_found = 0})) {
      names.push_back(to_string(method));
      ways.push_back({.method = method});
    }
    return measure(shape, names, ways);
  }

  TuningPoint measure_batches(const TuningShape& wanted) const {
    std::vector<DeviceSearchTuning> ways;
    for (const std::int64_t batch : kQueryBatches) ways.push_back({.query_batch = batch});
    return measure(cut(wanted), kQueryBatchNames, ways);
  }

  TuningPoint measure(const TuningShape& shape, std::span<const std::string_view> names,
                      std::span<const DeviceSearchTuning> ways) const {
    const Neighbors expected = knn(queries_of(shape), base_of(shape), {.k = shape.k}, on_cpu_);
    const auto seconds = [&](std::size_t i) {
      const Neighbors found = search(shape, ways[i]);
      if (found.ids != expected.ids || found.keys != expected.keys) {
        fail(ErrorCode::unsupported,
             "{} finds {} of {} rows of {} columns by {} otherwise than the CPU: leave this device "
             "alone, and report its driver, {}",
             device_.id, shape.k, shape.rows, shape.cols, names[i], device_.driver);
      }
      return found.stats.seconds;
    };
    for (std::size_t i = 0; i < ways.size(); ++i) seconds(i);
    return {shape, timed_rounds(names, seconds)};
  }

  const TuneWork& work_;
  const KeyDevice device_;
  Monitor monitor_;
  Context on_device_;
  Context on_cpu_;
  std::vector<float> values_;
};

void check(const Context& context) {
  check_one_device(context, "tune");
  if (!on_device(context)) {
    fail(ErrorCode::invalid_argument,
         "tune measures a device other than the CPU: name one of devices(), such as 'opencl'");
  }
  if (const std::string path = named_tuning(); !path.empty()) {
    fail(ErrorCode::invalid_argument,
         "tune measures what is chosen without a table, and NEARFIELD_TUNING names '{}': unset it",
         path);
  }
  if (context.memory_limit) {
    fail(ErrorCode::unsupported,
         "tune has no limit of the host's memory, got {} bytes: leave it out, it takes some 100 "
         "million",
         *context.memory_limit);
  }
}

}  // namespace

TuneEffort parse_tune_effort(std::string_view name) {
  if (name == "quick") return TuneEffort::quick;
  if (name == "full") return TuneEffort::full;
  fail(ErrorCode::invalid_argument, "'{}' is no effort of tuning: there are quick and full", name);
}

TuneWork tune_work(TuneEffort effort) {
  using List = std::vector<std::int64_t>;
  if (effort == TuneEffort::quick) {
    return {.selection = selections(List{1, 8}, List{10'000, 100'000}),
            .search = searches(List{4, 32, 128}, List{32, 1024}, List{10}),
            .query_batch = searches(List{32}, List{4096}, List{10}),
            .seconds = 0.05};
  }
  return {.selection = selections(List{1, 32, 1000}, List{10'000, 100'000, 1'000'000}),
          .search = searches(List{4, 16, 32, 64, 128}, List{32, 1024, 8192}, List{2, 10, 64}),
          .query_batch = searches(List{16, 128}, List{16'384}, List{10}),
          .seconds = 0.2};
}

TuningTable tune(const TuneWork& work, const Context& context) {
  check(context);
  return Tuner(work, context).run();
}

std::string tune(const TuneOptions& options, const Context& context) {
  return format_tuning(tune(tune_work(options.effort), context));
}

}  // namespace nearfield
