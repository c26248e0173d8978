#include <nearfield/prepared.hpp>

#include <utility>

#include "core/fail.hpp"
#include "core/float_environment.hpp"
#include "core/memory_errors.hpp"
#include "core/tasks.hpp"
#include "device/device_name.hpp"
#include "search/check_rows.hpp"
#include "search/prepared_base.hpp"

namespace nearfield {
namespace {

constexpr const char* kPreparedAdvice = "search the rows as they are";

// What is allocated, in the terms of a plan.
Plan memory_plan(MatrixView rows, int threads, const Context& context) {
  Plan plan;
  plan.result_bytes = rows.rows() * RoundedRows::bytes_per_row(rows.cols());
  const std::int64_t needed = prepared_bytes(rows.rows(), rows.cols(), threads);
  plan.working_bytes = needed - plan.result_bytes;
  if (context.memory_limit && needed > *context.memory_limit) {
    fail(ErrorCode::memory_limit,
         "preparing {} rows of {} columns takes {} bytes but the memory limit is {}: raise it, or "
         "{}",
         rows.rows(), rows.cols(), needed, *context.memory_limit, kPreparedAdvice);
  }
  return plan;
}

}  // namespace

std::int64_t prepared_bytes(std::int64_t rows, std::int64_t cols, int threads) {
  return rows * RoundedRows::bytes_per_row(cols) + RoundedRows::fixed_bytes(cols, threads) +
         fit_bytes(cols);
}

std::optional<PreparedBase> prepare(MatrixView rows, MetricSpec metric, const Context& context) {
  check_on_cpu(context, "preparing rows");
  check_metric(metric);
  const Isa isa = isa_of(context);
  auto rounding = choose_rounding(metric, rows.dtype(), rows.dtype(), rows.cols(), isa);
  if (!rounding) return std::nullopt;
  const int threads = resolve_threads(context.threads);
  return with_memory_errors(memory_plan(rows, threads, context), kPreparedAdvice, [&] {
    const DefaultFloats floats;
    Monitor monitor(context, rows.rows());
    if (!rounding->lossless) fit_rounding(*rounding, rows, monitor);
    RoundedRows rounded(*rounding, tile_kernel(isa).form, rows, 0, threads, monitor,
                        TileRows::Progress::rows);
    monitor.finish();
    return std::optional(PreparedBase{metric, isa, *std::move(rounding), std::move(rounded)});
  });
}

PreparedRows::PreparedRows(MatrixView rows, MetricSpec metric, const Context& context)
    : rows_(rows), metric_(metric) {
  auto base = prepare(rows, metric, context);
  if (!base) {
    fail(ErrorCode::unsupported, "nothing can be prepared of {} columns of {} for {}: {}",
         rows.cols(), to_string(rows.dtype()), to_string(metric), kPreparedAdvice);
  }
  base_ = std::make_unique<PreparedBase>(*std::move(base));
}

PreparedRows::PreparedRows(PreparedRows&&) noexcept = default;
PreparedRows& PreparedRows::operator=(PreparedRows&&) noexcept = default;
PreparedRows::~PreparedRows() = default;

std::int64_t PreparedRows::bytes() const { return rows() * RoundedRows::bytes_per_row(cols()); }

}  // namespace nearfield
