#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include <nearfield/results.hpp>
#include <nearfield/select.hpp>

#include "core/checked.hpp"
#include "core/float_environment.hpp"
#include "core/memory_errors.hpp"
#include "core/monitor.hpp"
#include "core/tasks.hpp"
#include "device/device_name.hpp"
#include "select/gpu/select_on_device.hpp"
#include "select/keep_first.hpp"
#include "select/select_part.hpp"
#include "select/selected.hpp"
#include "select/sort_items.hpp"
#include "select/value_kernels.hpp"

namespace nearfield {
namespace {

// Waking threads for fewer values, in all, takes longer than looking at them.
constexpr std::int64_t kInlineBelow = 1 << 15;
// A task takes about as many, in whole rows; a row is cut into parts of no fewer.
constexpr std::int64_t kValuesPerTask = 1 << 16;
constexpr std::int64_t kMostRowsPerTask = 1 << 12;
// With this many rows a thread, the last ones keep no thread waiting for long.
constexpr std::int64_t kManyRowsPerThread = 8;
constexpr std::int64_t kPartsPerThread = 4;
// Parts have as many for each of the k where there is a choice: every part finds k of its own.
constexpr std::int64_t kPartPerK = 256;

constexpr std::int64_t kWorkerBytes = 1024;  // of a thread or a part, whatever the shapes
constexpr std::int64_t kCallBytes = 4096;    // of the call: names, tasks

void check_arguments(const ValuesView& values, const SelectOptions& options) {
  if (options.k < 0) fail(ErrorCode::invalid_argument, "k is at least 0, got {}", options.k);
  const auto ids = static_cast<std::int64_t>(options.ids.size());
  const std::int64_t rows = values.rows();
  const std::int64_t cols = values.cols();
  const std::int64_t all = checked_mul(rows, cols, "rows x columns");
  if (ids != 0 && ids != cols && ids != all) {
    fail(ErrorCode::invalid_argument,
         "expected no ids, {} (one a column) or {} (one a value of {} x {}), got {}", cols, all,
         rows, cols, ids);
  }
}

// One call on the CPU. Most rows are whole tasks' work; the last few, where there would be too few
// for all threads, are cut into parts, whose first k are merged.
class Selection {
 public:
  Selection(ValuesView values, const SelectOptions& options, const Context& context)
      : values_(values),
        options_(options),
        context_(context),
        kept_(values.rows() > 0 ? std::min(options.k, values.cols()) : 0),
        isa_(context.isa ? *context.isa : default_isa()),
        kernels_(select_kernels(isa_)) {
    make_plan();
  }

  const Plan& plan() const { return plan_; }

  Selected run() {
    Monitor monitor(context_, plan_.pairs);
    monitor.check();
    result_ = none_selected(values_.rows(), options_, monitor);
    if (kept_ > 0) {
      const std::int64_t whole = plan_.row_parts == 1 ? values_.rows() : whole_rows();
      select_rows(whole, monitor);
      for (std::int64_t row = whole; row < values_.rows(); ++row) select_in_parts(row, monitor);
    }
    monitor.finish();
    result_.stats = {plan_, plan_.pairs, plan_.pairs, monitor.seconds()};
    return std::move(result_);
  }

 private:
  void make_plan() {
    plan_.pairs = values_.rows() * values_.cols();
    plan_.result_bytes = selected_bytes(values_.rows(), options_.k);
    const int threads = resolve_threads(context_.threads);
    plan_.threads = plan_.pairs < kInlineBelow ? 1 : threads;
    plan_.query_batch = values_.rows();
    plan_.base_chunk = values_.cols();
    plan_.passes = 1;
    plan_.query_tile = std::clamp(kValuesPerTask / std::max<std::int64_t>(values_.cols(), 1),
                                  std::int64_t{1}, kMostRowsPerTask);
    plan_.isa = isa_;
    fit_memory();
    plan_.row_tile = divide_up(values_.cols(), plan_.row_parts);
    const bool filtered = filters(shape(plan_.row_tile));
    plan_.selector = filtered ? "buffered selection" : "exact threshold";
    plan_.kernel = fmt::format("select/{}/{}", to_string(values_.dtype()), to_string(isa_));
    plan_.filter = filtered ? "first of each group" : "none";
  }

  // Under a tight limit fewer threads and parts.
  void fit_memory() {
    const std::int64_t fixed = plan_.result_bytes + kCallBytes;
    const std::int64_t budget = context_.memory_limit ? *context_.memory_limit - fixed
                                                      : std::numeric_limits<std::int64_t>::max();
    const std::int64_t least = row_bytes_of_work();
    if (least > budget) fail_memory(fixed + least);
    plan_.threads = static_cast<int>(std::min<std::int64_t>(plan_.threads, budget / least));
    plan_.row_parts = whole_rows() == values_.rows() ? 1 : wanted_parts();
    while (plan_.row_parts > 1 && bytes_in_parts() > budget) plan_.row_parts /= 2;
    plan_.working_bytes =
        kCallBytes + std::max(plan_.threads * least, plan_.row_parts > 1 ? bytes_in_parts() : 0);
  }

  [[noreturn]] void fail_memory(std::int64_t least) const {
    fail(ErrorCode::memory_limit,
         "the selection needs at least {} bytes ({} for {} x {} results, {} for the work of one "
         "thread on rows of {}) but the memory limit is {}: raise it, pass fewer rows at a time or "
         "a smaller k",
         least, plan_.result_bytes, values_.rows(), options_.k, least - plan_.result_bytes,
         values_.cols(), *context_.memory_limit);
  }

  PartShape shape(std::int64_t count) const {
    return {values_.dtype(), options_.largest, !options_.ids.empty(), kept_, count};
  }

  // Of selecting from a whole row.
  std::int64_t row_bytes_of_work() const {
    const PartBytes bytes = part_bytes(shape(values_.cols()));
    return kWorkerBytes + bytes.working + bytes.found + sorting_bytes(bytes.found);
  }

  // Rows that are not cut.
  std::int64_t whole_rows() const {
    const bool many = values_.rows() >= plan_.threads * kManyRowsPerThread;
    return many ? values_.rows() : values_.rows() - values_.rows() % plan_.threads;
  }

  // Some for each thread, so that a slow one is helped, unless that makes them too short.
  std::int64_t wanted_parts() const {
    const std::int64_t most = std::clamp<std::int64_t>(values_.cols() / kValuesPerTask, 1,
                                                       plan_.threads * kPartsPerThread);
    const std::int64_t long_enough =
        values_.cols() / (kPartPerK * std::max<std::int64_t>(kept_, 1));
    return std::min(most, std::max<std::int64_t>(plan_.threads, long_enough));
  }

  // Of all parts of a row, and of their merging.
  std::int64_t bytes_in_parts() const {
    const std::int64_t count = divide_up(values_.cols(), plan_.row_parts);
    const PartBytes bytes = part_bytes(shape(count));
    const std::int64_t found = plan_.row_parts * bytes.found;
    return plan_.threads * bytes.working + plan_.row_parts * kWorkerBytes + 2 * found +
           sorting_bytes(kNeighborBytes * kept_);
  }

  // Of sorting what takes `bytes`.
  std::int64_t sorting_bytes(std::int64_t bytes) const {
    return options_.sorted && bytes >= kRadixFrom * kNeighborBytes ? bytes : 0;
  }

  Part part(std::int64_t row, std::int64_t first, std::int64_t end) const {
    const std::int64_t cols = values_.cols();
    const bool shared = static_cast<std::int64_t>(options_.ids.size()) == cols;
    const std::int64_t* const ids =
        options_.ids.empty() ? nullptr : options_.ids.data() + (shared ? 0 : row * cols) + first;
    return {values_.row(row) + row_bytes(values_.dtype(), first), ids, first, end - first};
  }

  // One for each thread, made by the first task that needs it.
  class Workers {
   public:
    Workers(const PartShape& shape, const SelectKernels& kernels, int threads)
        : shape_(shape), kernels_(kernels), selectors_(static_cast<std::size_t>(threads)) {}

    PartSelector& of(int worker) {
      std::unique_ptr<PartSelector>& selector = selectors_[static_cast<std::size_t>(worker)];
      if (selector == nullptr) selector = make_part_selector(shape_, kernels_);
      return *selector;
    }

   private:
    const PartShape shape_;
    const SelectKernels& kernels_;
    std::vector<std::unique_ptr<PartSelector>> selectors_;
  };

  // Rows [0, count).
  void select_rows(std::int64_t count, Monitor& monitor) {
    Workers workers(shape(values_.cols()), kernels_, plan_.threads);
    std::vector<std::vector<Neighbor>> spares(static_cast<std::size_t>(plan_.threads));
    const std::int64_t tasks = divide_up(count, plan_.query_tile);
    run_tasks(tasks, plan_.threads, [&](std::int64_t task, int worker) {
      const DefaultFloats floats;
      Pace pace(monitor);
      const std::int64_t first = task * plan_.query_tile;
      for (std::int64_t row = first; row < std::min(first + plan_.query_tile, count); ++row) {
        write_row(row, workers.of(worker).select(part(row, 0, values_.cols()), pace),
                  spares[static_cast<std::size_t>(worker)]);
      }
      pace.report();
    });
  }

  void select_in_parts(std::int64_t row, Monitor& monitor) {
    std::vector<std::vector<Neighbor>> parts(static_cast<std::size_t>(plan_.row_parts));
    const std::int64_t size = divide_up(values_.cols(), plan_.row_parts);
    Workers workers(shape(size), kernels_, plan_.threads);
    run_tasks(plan_.row_parts, plan_.threads, [&](std::int64_t task, int worker) {
      const DefaultFloats floats;
      Pace pace(monitor);
      const std::int64_t end = std::min((task + 1) * size, values_.cols());
      parts[static_cast<std::size_t>(task)] =
          workers.of(worker).select(part(row, std::min(task * size, end), end), pace);
      pace.report();
    });

    const DefaultFloats floats;
    std::size_t found = 0;
    for (const auto& one : parts) found += one.size();
    std::vector<Neighbor> best;
    best.reserve(found);
    for (const auto& one : parts) best.insert(best.end(), one.begin(), one.end());
    keep_first(best, kept_);
    std::vector<Neighbor> spare;
    write_row(row, std::move(best), spare);
    monitor.check();
  }

  // Of the pairs found, the first k.
  void write_row(std::int64_t row, std::vector<Neighbor> best, std::vector<Neighbor>& spare) {
    if (options_.sorted) {
      sort_selected(values_.dtype(), best, spare);
      best.resize(std::min(best.size(), static_cast<std::size_t>(kept_)));
    } else {
      keep_first(best, kept_);
    }
    write_selected(row, best, options_.largest, result_);
  }

  const ValuesView values_;
  const SelectOptions& options_;
  const Context& context_;
  const std::int64_t kept_;  // of the k, at most
  const Isa isa_;
  const SelectKernels& kernels_;
  Plan plan_;
  Selected result_;
};

}  // namespace

Selected select_k(ValuesView values, const SelectOptions& options, const Context& context) {
  check_arguments(values, options);
  // Also where it is not used: a wrong number of threads is one on a device too.
  resolve_threads(context.threads);
  check_one_device(context, "select_k");
  if (on_device(context)) return select_on_device({values}, options, context);
  Selection selection(values, options, context);
  return with_memory_errors(selection.plan(), "pass fewer rows at a time or a smaller k",
                            [&] { return selection.run(); });
}

Selected select_k(const DeviceArray& values, const SelectOptions& options, const Context& context) {
  const PlacedValues placed = place_values(values, context);
  check_arguments(placed.view, options);
  resolve_threads(context.threads);
  return select_on_device(placed, options, context);
}

}  // namespace nearfield
