#include "search/knn.hpp"

#include <algorithm>
#include <limits>
#include <new>

#include "core/checked.hpp"
#include "core/float_environment.hpp"
#include "core/monitor.hpp"
#include "core/tasks.hpp"
#include "distance/kernels.hpp"
#include "filter/every_row.hpp"
#include "filter/row_set.hpp"
#include "scan/scan.hpp"
#include "scan/top_k_sink.hpp"
#include "search/check_rows.hpp"
#include "search/matrix_verifier.hpp"

namespace nearfield {
namespace {

// Queries whose results are written by one task.
constexpr std::int64_t kResultsPerTask = 256;

// Between two looks at the cancel token: a few milliseconds each.
constexpr std::int64_t kReadBytes = 4 << 20;
constexpr std::int64_t kValuesPerFill = 1 << 20;

int resolve_threads(int threads) {
  if (threads < 0 || threads > kMaxThreads) {
    fail(ErrorCode::invalid_argument, "threads are 0 (all cores) to {}, got {}", kMaxThreads,
         threads);
  }
  return threads == 0 ? usable_cores() : threads;
}

RowSet make_row_set(const KnnOptions& options, std::int64_t rows, const Monitor& monitor) {
  RowSet set = options.filter.kind() == RowFilter::Kind::bitset
                   ? RowSet::bitset(options.filter.words())
               : options.filter.kind() == RowFilter::Kind::list
                   ? RowSet::list(options.filter.ids(), rows, monitor)
                   : RowSet::all();
  if (options.exclude_self) set.exclude_self();
  return set;
}

// Rows of a source: in place if it is in memory, else read to the buffer.
MatrixView fetch(const RowSource& source, Range rows, Matrix& buffer, const Monitor& monitor) {
  if (const auto all = source.in_memory()) return all->slice(rows.begin, rows.size());
  const std::int64_t piece = std::max<std::int64_t>(
      kReadBytes / std::max<std::int64_t>(row_bytes(source.dtype(), source.cols()), 1), 1);
  for (std::int64_t done = 0; done < rows.size(); done += piece) {
    monitor.check();
    source.read(rows.begin + done, std::min(piece, rows.size() - done), buffer, done);
  }
  return buffer.view().slice(0, rows.size());
}

Matrix buffer_for(const RowSource& source, std::int64_t rows) {
  return source.in_memory() ? Matrix() : Matrix(source.dtype(), rows, source.cols());
}

// std::vector::assign in pieces: touching fresh memory takes half a second a gigabyte.
template <class T>
void fill(std::vector<T>& out, std::int64_t count, T value, const Monitor& monitor) {
  out.reserve(static_cast<std::size_t>(count));
  for (std::int64_t done = 0; done < count; done += kValuesPerFill) {
    monitor.check();
    const auto piece = static_cast<std::size_t>(std::min(kValuesPerFill, count - done));
    out.insert(out.end(), piece, value);
  }
}

// One search: what does not change from batch to batch, and the answer as it grows.
class Search {
 public:
  Search(const RowSource& queries, const RowSource& base, const KnnOptions& options,
         const Context& context, const KnnTuning& tuning)
      : queries_(queries),
        base_(base),
        options_(options),
        context_(context),
        kernels_(distance_kernels(context.isa ? *context.isa : default_isa())) {
    check_arguments(queries, base, options);
    plan(tuning);
  }

  const Plan& plan() const { return plan_; }

  Neighbors run() {
    Monitor monitor(context_, plan_.pairs);
    monitor.check();
    allowed_ = make_row_set(options_, base_.rows(), monitor);
    prepare_result(monitor);
    for (std::int64_t first = 0; first < queries_.rows(); first += plan_.query_batch) {
      run_batch({first, std::min(first + plan_.query_batch, queries_.rows())}, monitor);
    }
    if (queries_.rows() == 0 && options_.check_finite) run_batch({0, 0}, monitor);
    monitor.finish();
    result_.exact = filter_.certified();
    result_.stats = {plan_, counts_.considered, counts_.verified, monitor.seconds()};
    return std::move(result_);
  }

 private:
  void plan(const KnnTuning& tuning) {
    KnnShape shape;
    shape.queries = queries_.rows();
    shape.rows = base_.rows();
    shape.cols = base_.cols();
    shape.k = options_.k;
    shape.base_row_bytes = row_bytes(base_.dtype(), base_.cols());
    shape.base_buffer_bytes = base_.in_memory() ? 0 : shape.base_row_bytes;
    shape.query_buffer_bytes =
        queries_.in_memory() ? 0 : row_bytes(queries_.dtype(), queries_.cols());
    shape.filter_bytes = static_cast<std::int64_t>(options_.filter.ids().size_bytes());
    shape.threads = resolve_threads(context_.threads);
    shape.memory_limit = context_.memory_limit;
    plan_ = plan_knn(shape, tuning);
    plan_.isa = kernels_.isa;
    plan_.filter = filter_.name();
    plan_.kernel = kernel_name(options_.metric, base_.dtype(), kernels_.isa);
    plan_.selector = "buffered selection";
  }

  void prepare_result(const Monitor& monitor) {
    result_.queries = queries_.rows();
    result_.k = options_.k;
    const std::int64_t slots = result_.queries * result_.k;
    const double none = std::numeric_limits<double>::infinity();
    const bool similarity = info(options_.metric).reported == Reported::similarity;
    fill(result_.ids, slots, kNoId, monitor);
    fill(result_.keys, slots, none, monitor);
    fill(result_.distances, slots, static_cast<float>(similarity ? -none : none), monitor);
    fill(result_.counts, result_.queries, std::int64_t{0}, monitor);
  }

  void run_batch(Range batch, Monitor& monitor) {
    Matrix query_buffer = buffer_for(queries_, batch.size());
    const MatrixView queries = fetch(queries_, batch, query_buffer, monitor);
    check(queries, batch.begin, "queries", monitor);

    TopKSink sink(batch, std::min(options_.k, base_.rows()));
    Matrix base_buffer = buffer_for(base_, plan_.base_chunk);
    for (std::int64_t first = 0; first < base_.rows(); first += plan_.base_chunk) {
      const std::int64_t count = std::min(plan_.base_chunk, base_.rows() - first);
      const MatrixView rows = fetch(base_, {first, first + count}, base_buffer, monitor);
      if (batch.begin == 0) check(rows, first, "base", monitor);
      const MatrixVerifier verifier(options_.metric, kernels_, {queries, batch.begin},
                                    {rows, first});
      const ScanGrid grid{batch,          {first, first + count}, plan_.query_tile,
                          plan_.row_tile, plan_.row_parts,        plan_.threads};
      const ScanCounts counts = scan(grid, allowed_, filter_, verifier, sink, monitor);
      counts_.considered += counts.considered;
      counts_.verified += counts.verified;
    }
    write_results(batch, sink, monitor);
  }

  // In pieces, so that a cancelled search need not wait for the whole.
  void check(MatrixView rows, std::int64_t first, std::string_view what, const Monitor& monitor) {
    for (std::int64_t done = 0; done < rows.rows(); done += plan_.row_tile) {
      const std::int64_t count = std::min(plan_.row_tile, rows.rows() - done);
      check_rows(rows.slice(done, count), first + done, what, options_.check_finite);
      monitor.check();
    }
  }

  void write_results(Range batch, TopKSink& sink, const Monitor& monitor) {
    run_tasks(divide_up(batch.size(), kResultsPerTask), plan_.threads, [&](std::int64_t task, int) {
      const DefaultFloats floats;
      const std::int64_t begin = batch.begin + task * kResultsPerTask;
      const std::int64_t end = std::min(begin + kResultsPerTask, batch.end);
      for (std::int64_t query = begin; query < end; ++query) {
        write_result(query, sink);
        monitor.check();
      }
    });
  }

  void write_result(std::int64_t query, TopKSink& sink) {
    const std::span<const Neighbor> best = sink.finish(query);
    result_.counts[static_cast<std::size_t>(query)] = static_cast<std::int64_t>(best.size());
    auto slot = static_cast<std::size_t>(query * options_.k);
    for (const Neighbor& neighbor : best) {
      result_.ids[slot] = neighbor.id;
      result_.keys[slot] = neighbor.key;
      result_.distances[slot] = static_cast<float>(reported_value(options_.metric, neighbor.key));
      ++slot;
    }
  }

  const RowSource& queries_;
  const RowSource& base_;
  const KnnOptions& options_;
  const Context& context_;
  const DistanceKernels& kernels_;
  RowSet allowed_ = RowSet::all();
  EveryRow filter_;
  Plan plan_;
  ScanCounts counts_;
  Neighbors result_;
};

}  // namespace

Neighbors knn(const RowSource& queries, const RowSource& base, const KnnOptions& options,
              const Context& context, const KnnTuning& tuning) {
  Search search(queries, base, options, context, tuning);
  try {
    return search.run();
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::memory_limit,
         "the system has no memory for {} bytes of results and {} of work: ask for fewer queries "
         "at a time or a smaller k",
         search.plan().result_bytes, search.plan().working_bytes);
  }
}

Neighbors knn(const RowSource& queries, const RowSource& base, const KnnOptions& options,
              const Context& context) {
  return knn(queries, base, options, context, KnnTuning());
}

Plan plan_knn(const RowSource& queries, const RowSource& base, const KnnOptions& options,
              const Context& context) {
  return Search(queries, base, options, context, KnnTuning()).plan();
}

}  // namespace nearfield
