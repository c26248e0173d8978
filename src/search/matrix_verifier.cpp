#include "search/matrix_verifier.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/decode.hpp"

namespace nearfield {
namespace {

bool all_finite(std::span<const double> keys) {
  bool finite = true;  // no early exit: vectorises
  for (const double key : keys) finite &= std::abs(key) < INFINITY;
  return finite;
}

}  // namespace

MatrixVerifier::MatrixVerifier(MetricSpec metric, const DistanceKernels& kernels, Piece queries,
                               Piece base)
    : queries_(queries),
      base_(base),
      kernel_(kernels.metrics[static_cast<std::size_t>(metric.metric)]
                  .keys[static_cast<std::size_t>(base.view.dtype())]),
      p_(metric.p) {}

std::string kernel_name(MetricSpec metric, DType dtype, Isa isa) {
  return fmt::format("{}/{}/{}", to_string(metric), to_string(dtype), to_string(isa));
}

void MatrixVerifier::keys(const Candidates& candidates, std::span<const double> /*thresholds*/,
                          std::span<double> out) const {
  const Block& block = candidates.block();
  const MatrixView& queries = queries_.view;
  const MatrixView& base = base_.view;
  PreparedQuery prepared(queries.dtype(), queries.cols());

  std::size_t done = 0;
  for (std::int64_t query = block.queries.begin; query < block.queries.end; ++query) {
    const std::int64_t count = candidates.count_of(query);
    if (count == 0) continue;
    const std::span<double> keys = out.subspan(done, static_cast<std::size_t>(count));
    done += keys.size();
    const std::byte* row = queries_.row(query);
    if (!row_is_finite(queries.dtype(), row, queries.cols())) {
      std::fill(keys.begin(), keys.end(), kNever);
      continue;
    }
    prepared.load(queries.dtype(), row);
    kernel_({.query = prepared.data(),
             .rows = base_.row(block.rows.begin),
             .stride = base.stride_bytes(),
             .row_bytes = row_bytes(base.dtype(), base.cols()),
             .picks = candidates.dense() ? nullptr : candidates.rows_of(query).data(),
             .count = count,
             .p = p_,
             .keys = keys.data()});
    if (!all_finite(keys)) settle_not_finite(candidates, query, keys);
  }
}

void MatrixVerifier::settle_not_finite(const Candidates& candidates, std::int64_t query,
                                       std::span<double> keys) const {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (std::isfinite(keys[i])) continue;
    const std::int64_t row = candidates.row(query, static_cast<std::int64_t>(i));
    if (!row_is_finite(base_.view.dtype(), base_.row(row), base_.view.cols())) {
      keys[i] = kNever;
    } else if (std::isnan(keys[i])) {
      keys[i] = INFINITY;  // a finite pair the definition cannot order comes last
    }
  }
}

}  // namespace nearfield
