#include "search/matrix_verifier.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "distance/settled_key.hpp"

namespace nearfield {
namespace {

// Rows of a query from which on a test in float32 pays, with its query made ready.
constexpr std::int64_t kLeastTested = 4;

// After so many the monitor is checked: 5 ms, of the metric that costs least.
constexpr std::int64_t kValuesAtOnce = 1 << 22;

// The key of a row that is proven to be above the threshold.
constexpr double kTooFar = std::numeric_limits<double>::infinity();

bool all_finite(std::span<const double> keys) {
  bool finite = true;  // no early exit: vectorises
  for (const double key : keys) finite &= std::abs(key) < INFINITY;
  return finite;
}

}  // namespace

MatrixVerifier::MatrixVerifier(MetricSpec metric, const DistanceKernels& kernels, Piece queries,
                               Piece base)
    : metric_(metric),
      isa_(kernels.isa),
      queries_(queries),
      base_(base),
      kernel_(kernels.metrics[static_cast<std::size_t>(metric.metric)]
                  .keys[static_cast<std::size_t>(base.view.dtype())]) {}

std::string kernel_name(MetricSpec metric, DType dtype, std::string_view where) {
  return fmt::format("{}/{}/{}", to_string(metric), to_string(dtype), where);
}

void MatrixVerifier::keys(const Candidates& candidates, std::span<const double> thresholds,
                          std::span<double> out, const Monitor& monitor) const {
  const Block& block = candidates.block();
  const MatrixView& queries = queries_.view;
  PreparedQuery prepared(queries.dtype(), queries.cols(), isa_);
  FarRows far(metric_, queries.dtype(), base_.view.dtype(), queries.cols(), isa_);

  std::size_t done = 0;
  std::int64_t unchecked = 0;  // values
  for (std::int64_t query = block.queries.begin; query < block.queries.end; ++query) {
    const std::int64_t count = candidates.count_of(query);
    if (count == 0) continue;
    const std::span<double> keys = out.subspan(done, static_cast<std::size_t>(count));
    done += keys.size();
    if (!prepared.load(queries_.row(query))) {
      std::fill(keys.begin(), keys.end(), kNever);
      continue;
    }
    const RowList rows{base_.row(block.rows.begin), base_.view.stride_bytes(),
                       candidates.dense() ? nullptr : candidates.rows_of(query).data(), count};
    const double threshold = thresholds[static_cast<std::size_t>(query - block.queries.begin)];
    if (far.applies() && count >= kLeastTested && far.load(prepared.numbers(), threshold)) {
      near_keys(prepared.data(), far, rows, keys);
    } else {
      every_key(prepared.data(), rows, keys);
    }
    unchecked += count * queries.cols();
    if (unchecked >= kValuesAtOnce) {
      monitor.check();
      unchecked = 0;
    }
  }
}

void MatrixVerifier::every_key(const std::byte* query, const RowList& rows,
                               std::span<double> keys) const {
  const MatrixView& base = base_.view;
  kernel_({.query = query,
           .rows = rows.first,
           .stride = rows.stride,
           .row_bytes = row_bytes(base.dtype(), base.cols()),
           .picks = rows.picks,
           .count = rows.count,
           .p = metric_.p,
           .keys = keys.data()});
  if (!all_finite(keys)) settle_not_finite(rows, keys);
}

// Where most rows are near, as if all are equally far, the test is a waste, and given up.
void MatrixVerifier::near_keys(const std::byte* query, const FarRows& far, RowList rows,
                               std::span<double> keys) const {
  std::array<std::uint32_t, FarRows::kAtOnce> near;
  std::array<double, FarRows::kAtOnce> near_keys;
  std::int64_t done = 0;
  for (bool pays = true; pays && done < rows.count;) {
    const RowList part = rows.part(done, std::min(FarRows::kAtOnce, rows.count - done));
    const std::span<double> part_keys =
        keys.subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(part.count));
    const std::int64_t found = far.near(part, near.data());
    pays = 2 * found <= part.count;
    done += part.count;
    if (found == part.count) {
      every_key(query, part, part_keys);
      continue;
    }
    std::fill(part_keys.begin(), part_keys.end(), kTooFar);
    if (found == 0) continue;
    std::array<std::uint32_t, FarRows::kAtOnce> picks;
    for (std::size_t i = 0; i < static_cast<std::size_t>(found); ++i) {
      picks[i] = part.number(near[i]);
    }
    const std::span<double> exact = std::span(near_keys).first(static_cast<std::size_t>(found));
    every_key(query, {part.first, part.stride, picks.data(), found}, exact);
    for (std::size_t i = 0; i < exact.size(); ++i) part_keys[near[i]] = exact[i];
  }
  if (done < rows.count) {
    every_key(query, rows.part(done, rows.count - done),
              keys.subspan(static_cast<std::size_t>(done)));
  }
}

void MatrixVerifier::settle_not_finite(const RowList& rows, std::span<double> keys) const {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    keys[i] = settled_key(keys[i], base_.view.dtype(), rows.row(static_cast<std::int64_t>(i)),
                          base_.view.cols());
  }
}

}  // namespace nearfield
