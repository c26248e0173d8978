#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <nearfield/results.hpp>
#include <nearfield/select.hpp>

#include "core/checked.hpp"
#include "core/fill.hpp"
#include "core/float_environment.hpp"
#include "core/memory_errors.hpp"
#include "core/monitor.hpp"
#include "core/tasks.hpp"
#include "select/top_k.hpp"

namespace nearfield {
namespace {

// Values tested against the threshold at once: few enough that one that passes costs little.
constexpr std::int64_t kBlock = 256;
// Between two looks at the cancel token: at most a few milliseconds.
constexpr std::int64_t kValuesPerCheck = 1 << 18;
// Waking threads for fewer values, in all, takes longer than looking at them.
constexpr std::int64_t kInlineBelow = 1 << 15;
// A task takes about as many, in whole rows; a row is cut into parts of no fewer.
constexpr std::int64_t kValuesPerTask = 1 << 16;
constexpr std::int64_t kMostRowsPerTask = 1 << 12;
// With this many rows a thread, the last ones keep no thread waiting for long.
constexpr std::int64_t kManyRowsPerThread = 8;
constexpr std::int64_t kPartsPerThread = 4;
// Up to this many values for each of the k, gathering all takes less time than filtering: equal at
// 20 to 25 on rows of 100,000 floats, one thread of a Xeon with AMX, busy with other work.
constexpr std::int64_t kGatheredPerK = 20;
// Up to this many it takes no more memory either: filtering holds a TopK of 2k and its copy.
constexpr std::int64_t kGatheredPerKInLessMemory = 3;
// Parts have as many for each of the k where there is a choice: every part finds k of its own.
constexpr std::int64_t kPartPerK = 256;

constexpr std::int64_t kPairBytes = sizeof(Neighbor);
constexpr std::int64_t kWorkerBytes = 1024;  // of a thread or a part, whatever the shapes
constexpr std::int64_t kCallBytes = 4096;    // of the call: names, tasks

// Reports to the monitor only when there is something to say: rows may be short.
class Pace {
 public:
  explicit Pace(Monitor& monitor) : monitor_(monitor) {}

  void advance(std::int64_t values) {
    values_ += values;
    if (values_ >= kValuesPerCheck) report();
  }
  void report() { monitor_.advance(std::exchange(values_, 0)); }

 private:
  Monitor& monitor_;
  std::int64_t values_ = 0;
};

// A part of one row.
struct Part {
  const std::byte* values;
  const std::int64_t* ids;  // null: `first` and up
  std::int64_t first;       // column
  std::int64_t count;

  std::int64_t id(std::int64_t i) const { return ids != nullptr ? ids[i] : first + i; }
};

// What grows as a value comes later in the order.
template <class T, bool kLargest>
double key_of(T value) {
  return static_cast<double>(kLargest ? -value : value);
}

// False for NaN. A loop that compilers turn into vector instructions.
template <class T, bool kLargest>
bool any_in_time(const T* values, std::int64_t count, T threshold) {
  int found = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    found |= static_cast<int>(kLargest ? values[i] >= threshold : values[i] <= threshold);
  }
  return found != 0;
}

// For k that are few among many: most blocks have nothing that comes before the threshold.
template <class T, bool kLargest>
void filter(const Part& part, std::int64_t k, std::vector<Neighbor>& out, Pace& pace) {
  const T* const values = reinterpret_cast<const T*>(part.values);
  TopK<Neighbor> best(k);
  for (std::int64_t begin = 0; begin < part.count; begin += kBlock) {
    const std::int64_t count = std::min(kBlock, part.count - begin);
    // Exact: it is one of the values, or an infinity.
    const T threshold = static_cast<T>(key_of<double, kLargest>(best.threshold()));
    if (any_in_time<T, kLargest>(values + begin, count, threshold)) {
      for (std::int64_t i = begin; i < begin + count; ++i) {
        const double key = key_of<T, kLargest>(values[i]);
        if (key <= best.threshold()) best.offer({key, part.id(i)});
      }
    }
    pace.advance(count);
  }
  const std::span<const Neighbor> found = best.finish();
  out.clear();
  out.reserve(static_cast<std::size_t>(k));  // never more, as the plan says
  out.insert(out.end(), found.begin(), found.end());
}

// Keeps the first k, in any order.
void keep_first(std::vector<Neighbor>& pairs, std::int64_t k) {
  if (static_cast<std::int64_t>(pairs.size()) <= k) return;
  std::nth_element(pairs.begin(), pairs.begin() + (k - 1), pairs.end());
  pairs.resize(static_cast<std::size_t>(k));
}

// For k that are many: all pairs, then one selection.
template <class T, bool kLargest>
void gather(const Part& part, std::int64_t k, std::vector<Neighbor>& out, Pace& pace) {
  const T* const values = reinterpret_cast<const T*>(part.values);
  out.clear();
  out.reserve(static_cast<std::size_t>(part.count));
  for (std::int64_t begin = 0; begin < part.count; begin += kBlock) {
    const std::int64_t end = std::min(begin + kBlock, part.count);
    for (std::int64_t i = begin; i < end; ++i) {
      const double key = key_of<T, kLargest>(values[i]);
      if (!std::isnan(key)) out.push_back({key, part.id(i)});
    }
    pace.advance(end - begin);
  }
  keep_first(out, k);
}

// The first k of a part, k at least 1, in any order. `out` is overwritten.
using SelectPart = void (*)(const Part& part, std::int64_t k, std::vector<Neighbor>& out,
                            Pace& pace);

struct Selectors {
  SelectPart filter;
  SelectPart gather;
};

Selectors selectors(DType dtype, bool largest) {
  if (dtype == DType::f32) {
    return largest ? Selectors{filter<float, true>, gather<float, true>}
                   : Selectors{filter<float, false>, gather<float, false>};
  }
  return largest ? Selectors{filter<double, true>, gather<double, true>}
                 : Selectors{filter<double, false>, gather<double, false>};
}

// One call. Most rows are whole tasks' work; the last few, where there would be too few for all
// threads, are cut into parts, whose first k are merged.
class Selection {
 public:
  Selection(ValuesView values, const SelectOptions& options, const Context& context)
      : values_(values),
        options_(options),
        context_(context),
        kept_(values.rows() > 0 ? std::min(options.k, values.cols()) : 0),
        selectors_(selectors(values.dtype(), options.largest)),
        most_gathered_(kept_ * kGatheredPerK) {
    check_arguments();
    make_plan();
  }

  const Plan& plan() const { return plan_; }

  Selected run() {
    Monitor monitor(context_, plan_.pairs);
    monitor.check();
    prepare_result(monitor);
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
  void check_arguments() const {
    if (options_.k < 0) fail(ErrorCode::invalid_argument, "k is at least 0, got {}", options_.k);
    const auto ids = static_cast<std::int64_t>(options_.ids.size());
    const std::int64_t rows = values_.rows();
    const std::int64_t cols = values_.cols();
    const std::int64_t all = checked_mul(rows, cols, "rows x columns");
    if (ids != 0 && ids != cols && ids != all) {
      fail(ErrorCode::invalid_argument,
           "expected no ids, {} (one a column) or {} (one a value of {} x {}), got {}", cols, all,
           rows, cols, ids);
    }
  }

  void make_plan() {
    plan_.pairs = values_.rows() * values_.cols();
    const std::int64_t slots = checked_mul(values_.rows(), options_.k, "rows x k");
    plan_.result_bytes =
        checked_add(checked_mul(slots, 16, "bytes of the result"),
                    checked_mul(values_.rows(), 8, "bytes of the result"), "bytes of the result");
    const int threads = resolve_threads(context_.threads);
    plan_.threads = plan_.pairs < kInlineBelow ? 1 : threads;
    plan_.query_batch = values_.rows();
    plan_.base_chunk = values_.cols();
    plan_.passes = 1;
    plan_.query_tile = std::clamp(kValuesPerTask / std::max<std::int64_t>(values_.cols(), 1),
                                  std::int64_t{1}, kMostRowsPerTask);
    plan_.row_tile = kBlock;
    fit_memory();
    const bool gathered = gathers(divide_up(values_.cols(), plan_.row_parts));
    plan_.selector = gathered ? "selection of all pairs" : "buffered selection";
    plan_.kernel = "portable";
    plan_.filter = gathered ? "none" : "threshold a block";
  }

  // Under a tight limit nothing is gathered that could be filtered; then fewer threads and parts.
  void fit_memory() {
    const std::int64_t fixed = plan_.result_bytes + kCallBytes;
    const std::int64_t budget = context_.memory_limit ? *context_.memory_limit - fixed
                                                      : std::numeric_limits<std::int64_t>::max();
    if (part_bytes(values_.cols()) > budget) most_gathered_ = kept_ * kGatheredPerKInLessMemory;
    const std::int64_t least = part_bytes(values_.cols());
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

  bool gathers(std::int64_t count) const { return count <= most_gathered_; }

  // Bytes that selecting allocates for a part of `count` values.
  std::int64_t part_bytes(std::int64_t count) const {
    const std::int64_t pairs = gathers(count) ? count : kept_ + TopK<Neighbor>::most_held(kept_);
    return kWorkerBytes + kPairBytes * pairs;
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
    return plan_.row_parts * (part_bytes(count) + kPairBytes * std::min(kept_, count));
  }

  void prepare_result(const Monitor& monitor) {
    result_.rows = values_.rows();
    result_.k = options_.k;
    const std::int64_t slots = result_.rows * result_.k;
    const double none = std::numeric_limits<double>::infinity();
    fill(result_.ids, slots, kNoId, monitor);
    fill(result_.values, slots, options_.largest ? -none : none, monitor);
    fill(result_.counts, result_.rows, std::int64_t{0}, monitor);
  }

  Part part(std::int64_t row, std::int64_t first, std::int64_t end) const {
    const std::int64_t cols = values_.cols();
    const bool shared = static_cast<std::int64_t>(options_.ids.size()) == cols;
    const std::int64_t* const ids =
        options_.ids.empty() ? nullptr : options_.ids.data() + (shared ? 0 : row * cols) + first;
    return {values_.row(row) + row_bytes(values_.dtype(), first), ids, first, end - first};
  }

  // For parts of `count` values, the last of a row possibly shorter.
  SelectPart selector(std::int64_t count) const {
    return gathers(count) ? selectors_.gather : selectors_.filter;
  }

  // Rows [0, count).
  void select_rows(std::int64_t count, Monitor& monitor) {
    std::vector<std::vector<Neighbor>> scratch(static_cast<std::size_t>(plan_.threads));
    const std::int64_t tasks = divide_up(count, plan_.query_tile);
    const SelectPart select = selector(values_.cols());
    run_tasks(tasks, plan_.threads, [&](std::int64_t task, int worker) {
      const DefaultFloats floats;
      Pace pace(monitor);
      std::vector<Neighbor>& best = scratch[static_cast<std::size_t>(worker)];
      const std::int64_t first = task * plan_.query_tile;
      for (std::int64_t row = first; row < std::min(first + plan_.query_tile, count); ++row) {
        select(part(row, 0, values_.cols()), kept_, best, pace);
        write_row(row, best);
      }
      pace.report();
    });
  }

  void select_in_parts(std::int64_t row, Monitor& monitor) {
    std::vector<std::vector<Neighbor>> parts(static_cast<std::size_t>(plan_.row_parts));
    const std::int64_t size = divide_up(values_.cols(), plan_.row_parts);
    const SelectPart select = selector(size);
    run_tasks(plan_.row_parts, plan_.threads, [&](std::int64_t task, int) {
      const DefaultFloats floats;
      Pace pace(monitor);
      const std::int64_t end = std::min((task + 1) * size, values_.cols());
      select(part(row, std::min(task * size, end), end), kept_,
             parts[static_cast<std::size_t>(task)], pace);
      pace.report();
    });

    const DefaultFloats floats;
    std::size_t found = 0;
    for (const auto& one : parts) found += one.size();
    std::vector<Neighbor> best;
    best.reserve(found);
    for (const auto& one : parts) best.insert(best.end(), one.begin(), one.end());
    keep_first(best, kept_);
    write_row(row, best);
    monitor.check();
  }

  void write_row(std::int64_t row, std::vector<Neighbor>& best) {
    if (options_.sorted) std::sort(best.begin(), best.end());
    result_.counts[static_cast<std::size_t>(row)] = static_cast<std::int64_t>(best.size());
    auto slot = static_cast<std::size_t>(row * options_.k);
    for (const Neighbor& pair : best) {
      result_.ids[slot] = pair.id;
      result_.values[slot] = (options_.largest ? -pair.key : pair.key) + 0.0;  // -0 becomes 0
      ++slot;
    }
  }

  const ValuesView values_;
  const SelectOptions& options_;
  const Context& context_;
  const std::int64_t kept_;  // of the k, at most
  const Selectors selectors_;
  std::int64_t most_gathered_;  // values
  Plan plan_;
  Selected result_;
};

}  // namespace

ValuesView::ValuesView(const float* data, std::int64_t rows, std::int64_t cols,
                       std::int64_t stride_bytes)
    : ValuesView(data, DType::f32, rows, cols, stride_bytes) {}

ValuesView::ValuesView(const double* data, std::int64_t rows, std::int64_t cols,
                       std::int64_t stride_bytes)
    : ValuesView(data, DType::f64, rows, cols, stride_bytes) {}

ValuesView::ValuesView(MatrixView matrix)
    : ValuesView(matrix.rows() > 0 ? matrix.row(0) : nullptr, matrix.dtype(), matrix.rows(),
                 matrix.cols(), matrix.stride_bytes()) {}

ValuesView::ValuesView(const void* data, DType dtype, std::int64_t rows, std::int64_t cols,
                       std::int64_t stride_bytes)
    : data_(static_cast<const std::byte*>(data)),
      rows_(rows),
      cols_(cols),
      stride_(stride_bytes),
      dtype_(dtype) {
  if (dtype != DType::f32 && dtype != DType::f64) {
    fail(ErrorCode::invalid_argument, "values to select from are f32 or f64, got {} x {} of {}",
         rows, cols, to_string(dtype));
  }
  if (rows < 0 || cols < 0) {
    fail(ErrorCode::invalid_argument, "values have 0 or more rows and columns, got {} x {}", rows,
         cols);
  }
  const std::int64_t element = row_bytes(dtype, 1);
  const std::int64_t used = checked_mul(cols, element, "bytes of a row");
  if (stride_ == 0) stride_ = used;
  if (stride_ < used || stride_ % element != 0) {
    fail(ErrorCode::invalid_argument,
         "the stride of {} columns of {} is at least {} bytes and a multiple of {}, got {}", cols,
         to_string(dtype), used, element, stride_bytes);
  }
  checked_mul(rows, stride_, "bytes of the values");
  if (data == nullptr && rows > 0 && cols > 0) {
    fail(ErrorCode::invalid_argument, "null data for {} rows x {} columns", rows, cols);
  }
}

Selected select_k(ValuesView values, const SelectOptions& options, const Context& context) {
  Selection selection(values, options, context);
  return with_memory_errors(selection.plan(), "pass fewer rows at a time or a smaller k",
                            [&] { return selection.run(); });
}

}  // namespace nearfield
