#include <nearfield/pairwise.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <nearfield/rows.hpp>

#include "core/checked.hpp"
#include "core/decode.hpp"
#include "core/fill.hpp"
#include "core/float_environment.hpp"
#include "core/memory_errors.hpp"
#include "core/monitor.hpp"
#include "core/tasks.hpp"
#include "device/device_name.hpp"
#include "device/placed.hpp"
#include "distance/device_keys.hpp"
#include "distance/kernels.hpp"
#include "search/check_rows.hpp"
#include "search/value_cost.hpp"

namespace nearfield {
namespace {

// Values of a task, as those of a metric without a power: some milliseconds, so that cancelling is
// noticed. A device takes as many times more as it is faster.
constexpr double kValuesPerTask = 1 << 21;
constexpr std::int64_t kMostKeysPerTask = 1 << 14;
constexpr std::int64_t kDeviceTimes = 256;
constexpr std::int64_t kKeysWorkerBytes = 4096;

class PairwiseKeys {
 public:
  PairwiseKeys(const AnyRows& queries, const AnyRows& rows, const PairwiseOptions& options,
               const Context& context)
      : placed_queries_(place_rows(queries, context, "queries")),
        placed_rows_(place_rows(rows, context, "rows")),
        options_(options),
        context_(context) {
    check_matrices(MatrixRows(queries_), MatrixRows(rows_), options.metric);
    make_plan();
    check_one_device(context, "pairwise");
    if (on_device(context)) choose_device();
  }

  const Plan& plan() const { return plan_; }

  Pairwise run() {
    const DefaultFloats floats;
    Monitor monitor(context_, plan_.pairs);
    monitor.check();
    check_unused_bits(placed_queries_, "queries", monitor);
    check_unused_bits(placed_rows_, "rows", monitor);
    fill(result_.values, plan_.pairs, 0.0, monitor);
    if (plan_.device != kCpu) {
      plan_.note =
          device_keys(placed_queries_, placed_rows_, options_.metric,
                      kDeviceTimes * keys_per_task(), context_, monitor, result_.values.data());
    } else {
      run_on_cpu(monitor);
    }
    settle_not_finite(monitor);
    if (!options_.keys) report(monitor);
    monitor.finish();
    result_.queries = queries_.rows();
    result_.rows = rows_.rows();
    result_.stats = {plan_, plan_.pairs, plan_.pairs, monitor.seconds()};
    return std::move(result_);
  }

 private:
  void make_plan() {
    plan_.pairs = checked_mul(queries_.rows(), rows_.rows(), "queries x rows");
    plan_.result_bytes = checked_mul(plan_.pairs, 8, "bytes of the result");
    plan_.isa = context_.isa ? *context_.isa : default_isa();
    plan_.threads = resolve_threads(context_.threads);
    plan_.filter = "none";
    plan_.selector = "none";
    plan_.kernel = kernel_name(to_string(plan_.isa));
    plan_.query_batch = queries_.rows();
    plan_.base_chunk = rows_.rows();
    plan_.passes = 1;
    plan_.query_tile = 1;
    plan_.row_tile = std::min(rows_.rows(), std::min(keys_per_task(), kMostKeysPerTask));
    plan_.working_bytes =
        plan_.threads * (kKeysWorkerBytes + 8 * rows_.cols()) + queries_.rows() + rows_.rows() +
        std::max(device_flaws_bytes(placed_queries_), device_flaws_bytes(placed_rows_));
    const std::int64_t least = plan_.result_bytes + plan_.working_bytes;
    if (context_.memory_limit && least > *context_.memory_limit) {
      fail(ErrorCode::memory_limit,
           "{} x {} distances take {} bytes with the work of {} threads, and the memory limit is "
           "{}: raise it, or pass fewer queries at a time",
           queries_.rows(), rows_.rows(), least, plan_.threads, *context_.memory_limit);
    }
  }

  // The one of the context, unless keys cannot be had there.
  void choose_device() {
    const KeyDevice device = key_device(context_);
    if (device.has_float64) {
      plan_.device = device.id;
      plan_.kernel = kernel_name(device.id);
      return;
    }
    if (placed_queries_.on_device || placed_rows_.on_device) {
      fail(ErrorCode::unsupported,
           "keys are float64, which {} lacks, and the CPU does not read its memory: copy the "
           "arrays to the host",
           device.id);
    }
    if (context_.stream != 0) {
      fail(ErrorCode::invalid_argument,
           "keys are float64, which {} lacks, and on the CPU, which makes them instead, a stream "
           "means nothing: leave it out",
           device.id);
    }
    plan_.note = fmt::format("on the CPU: keys are float64, which {} lacks", device.id);
  }

  std::int64_t keys_per_task() const {
    const double cost =
        value_cost(options_.metric) * static_cast<double>(std::max<std::int64_t>(rows_.cols(), 1));
    return std::max<std::int64_t>(static_cast<std::int64_t>(kValuesPerTask / cost), 1);
  }

  std::string kernel_name(std::string_view where) const {
    return fmt::format("{}/{}/{}", to_string(options_.metric), to_string(rows_.dtype()), where);
  }

  void run_on_cpu(Monitor& monitor) {
    if (plan_.pairs == 0) return;
    const DistanceKernels& kernels = distance_kernels(plan_.isa);
    const KeyKernel kernel = kernels.metrics[static_cast<std::size_t>(options_.metric.metric)]
                                 .keys[static_cast<std::size_t>(rows_.dtype())];
    const std::int64_t pieces = divide_up(rows_.rows(), plan_.row_tile);
    run_tasks(queries_.rows() * pieces, plan_.threads, [&](std::int64_t task, int) {
      const DefaultFloats floats;
      const std::int64_t query = task / pieces;
      const std::int64_t first = task % pieces * plan_.row_tile;
      const std::int64_t count = std::min(plan_.row_tile, rows_.rows() - first);
      PreparedQuery prepared(queries_.dtype(), queries_.cols(), plan_.isa);
      prepared.load(queries_.row(query));
      kernel({prepared.data(), rows_.row(first), rows_.stride_bytes(),
              row_bytes(rows_.dtype(), rows_.cols()), nullptr, count, options_.metric.p,
              result_.values.data() + query * rows_.rows() + first});
      monitor.advance(count);
    });
  }

  // As searches have it: a vector that is not finite has no distance, and a finite pair whose sum
  // cannot be ordered is infinitely far.
  void settle_not_finite(const Monitor& monitor) {
    const std::vector<bool> rows = finite(placed_rows_, monitor);
    const std::vector<bool> queries = finite(placed_queries_, monitor);
    for (std::int64_t query = 0; query < queries_.rows(); ++query) {
      double* const keys = result_.values.data() + query * rows_.rows();
      for (std::size_t row = 0; row < rows.size(); ++row) {
        if (std::isfinite(keys[row])) continue;
        const bool both = queries[static_cast<std::size_t>(query)] && rows[row];
        if (!both) {
          keys[row] = std::numeric_limits<double>::quiet_NaN();
        } else if (std::isnan(keys[row])) {
          keys[row] = INFINITY;
        }
      }
      monitor.check();
    }
  }

  std::vector<bool> finite(const PlacedRows& placed, const Monitor& monitor) const {
    const MatrixView rows = placed.view;
    std::vector<bool> all(static_cast<std::size_t>(rows.rows()), true);
    const bool always =
        rows.dtype() == DType::u8 || rows.dtype() == DType::i8 || rows.dtype() == DType::bits;
    if (always) return all;
    if (placed.on_device) {
      all = device_flaws(placed, context_, monitor);
      all.flip();
      return all;
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i % 64 == 0) monitor.check();
      all[i] = row_is_finite(rows.dtype(), rows.row(static_cast<std::int64_t>(i)), rows.cols());
    }
    return all;
  }

  void check_unused_bits(const PlacedRows& placed, std::string_view what,
                         const Monitor& monitor) const {
    if (!placed.on_device) return check_rows(placed.view, 0, what, false);
    if (placed.view.dtype() != DType::bits) return;
    const std::vector<bool> flawed = device_flaws(placed, context_, monitor);
    const auto first = std::find(flawed.begin(), flawed.end(), true);
    if (first != flawed.end()) fail_unused_bits(first - flawed.begin(), what, placed.view.cols());
  }

  void report(const Monitor& monitor) {
    for (std::int64_t query = 0; query < queries_.rows(); ++query) {
      double* const values = result_.values.data() + query * rows_.rows();
      for (std::int64_t row = 0; row < rows_.rows(); ++row) {
        values[row] = reported_value(options_.metric, values[row]);
      }
      monitor.check();
    }
  }

  const PlacedRows placed_queries_;
  const PlacedRows placed_rows_;
  // For their shapes: on a device they are not read here.
  const MatrixView queries_ = placed_queries_.view;
  const MatrixView rows_ = placed_rows_.view;
  const PairwiseOptions& options_;
  const Context& context_;
  Plan plan_;
  Pairwise result_;
};

}  // namespace

Pairwise pairwise(const AnyRows& queries, const AnyRows& rows, const PairwiseOptions& options,
                  const Context& context) {
  PairwiseKeys work(queries, rows, options, context);
  return with_memory_errors(work.plan(), "pass fewer queries at a time",
                            [&] { return work.run(); });
}

}  // namespace nearfield
