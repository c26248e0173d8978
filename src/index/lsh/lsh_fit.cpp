#include "index/lsh/lsh_fit.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "index/lsh/lsh_functions.hpp"

namespace nearfield {
namespace {

// Enough for quantiles to a few hundredths, and for more directions than a table has bits.
constexpr std::int64_t kLshSampleRows = 1024;

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

void add_times(std::span<double> to, double times, std::span<const double> values) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += times * values[i];
}

void scale(std::vector<double>& values, double by) {
  for (double& value : values) value *= by;
}

}  // namespace

LshSample::LshSample(MatrixView rows, MetricSpec metric, const Monitor& monitor)
    : mean_(static_cast<std::size_t>(rows.cols())) {
  const std::int64_t most = std::min(rows.rows(), kLshSampleRows);
  Matrix all(DType::f64, most, rows.cols());
  LshProjector projector(rows.dtype(), rows.cols(), metric, default_isa());
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < most; ++i) {
    monitor.check();
    if (!projector.load(rows.row(i * rows.rows() / most))) continue;
    const std::vector<double> values = projector.scaled();
    std::memcpy(all.row(count++), values.data(), values.size() * sizeof(double));
    for (std::size_t j = 0; j < mean_.size(); ++j) mean_[j] += values[j];
  }
  if (count > 0) scale(mean_, 1 / static_cast<double>(count));
  centred_ = Matrix(DType::f64, count, rows.cols());
  for (std::int64_t i = 0; i < count; ++i) {
    const auto* const from = reinterpret_cast<const double*>(all.row(i));
    auto* const to = reinterpret_cast<double*>(centred_.row(i));
    for (std::size_t j = 0; j < mean_.size(); ++j) to[j] = from[j] - mean_[j];
  }
}

std::int64_t LshSample::bytes(std::int64_t cols, std::int64_t directions) {
  constexpr auto kValue = static_cast<std::int64_t>(sizeof(double));
  return kValue * (2 * kLshSampleRows * cols + (directions + 6) * (2 * kLshSampleRows + cols));
}

std::span<const double> LshSample::row(std::int64_t i) const {
  return {reinterpret_cast<const double*>(centred_.row(i)), mean_.size()};
}

double LshSample::deviation() const {
  if (rows() == 0) return 0;
  double sum = 0;
  for (std::int64_t i = 0; i < rows(); ++i) sum += dot(row(i), row(i));
  return std::sqrt(sum / static_cast<double>(rows()));
}

std::vector<double> LshSample::centred_projections(std::span<const double> direction) const {
  LshProjector projector(DType::f64, centred_.cols(), Metric::sqeuclidean, default_isa());
  projector.load(reinterpret_cast<const std::byte*>(direction.data()));
  std::vector<double> out(static_cast<std::size_t>(rows()));
  projector.project(centred_, out);
  return out;
}

std::vector<double> LshSample::projections(std::span<const float> direction) const {
  const std::vector<double> wide(direction.begin(), direction.end());
  std::vector<double> out = centred_projections(wide);
  const double mean = dot(wide, mean_);
  for (double& value : out) value += mean;
  return out;
}

std::vector<double> LshSample::sum_of_rows(std::span<const double> times) const {
  std::vector<double> sum(mean_.size());
  for (std::int64_t i = 0; i < rows(); ++i) {
    add_times(sum, times[static_cast<std::size_t>(i)], row(i));
  }
  return sum;
}

LearnedDirection LshSample::learn_direction(Random& random,
                                            std::span<const LearnedDirection> others) const {
  LearnedDirection learned;
  learned.values.resize(mean_.size());
  for (double& value : learned.values) value = random.normal();
  const std::vector<double> drawn = learned.values;
  for (int i = 0; i < 2; ++i) {
    learned.values = sum_of_rows(centred_projections(learned.values));
    if (const double length = std::sqrt(dot(learned.values, learned.values)); length > 0) {
      scale(learned.values, 1 / length);
    } else {
      learned.values = drawn;  // all rows are the same
    }
  }
  learned.centred = centred_projections(learned.values);
  const double before = dot(learned.centred, learned.centred);
  LearnedDirection apart = learned;
  for (const LearnedDirection& other : others) {
    const double square = dot(other.centred, other.centred);
    if (square == 0) continue;
    const double times = -dot(apart.centred, other.centred) / square;
    add_times(apart.centred, times, other.centred);
    add_times(apart.values, times, other.values);
  }
  constexpr double kLeastLeft = 1e-6;  // less is what rounding leaves
  if (dot(apart.centred, apart.centred) > kLeastLeft * before) learned = std::move(apart);
  const double length = std::sqrt(dot(learned.values, learned.values));
  scale(learned.values, 1 / length);
  scale(learned.centred, 1 / length);
  learned.of_sample = learned.centred;
  const double mean = dot(learned.values, mean_);
  for (double& value : learned.of_sample) value += mean;
  return learned;
}

}  // namespace nearfield
