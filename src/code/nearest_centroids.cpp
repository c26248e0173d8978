#include "code/nearest_centroids.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/checked.hpp"
#include "core/tasks.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kAssignedRows = 512;  // of a task

// Values of the filter are floats of two products, a norm and a difference: they are off by less
// than 2^-21 of the square of both lengths together, the smallest and the one compared with it.
constexpr double kOfTheSquare = 0x1p-20;

// Of a smaller square the scale of products may be denormal, or 0: a float off by 2^-150, which is
// 2^-119 of a product of 2^31. From here on the slack is 2^-110, of which half is spare.
constexpr double kLeastSquare = 0x1p-90;

}  // namespace

double squared_distance(const float* x, const float* y, std::int64_t count) {
  double sums[8] = {};
  std::int64_t i = 0;
  const auto add = [&](std::int64_t at, std::int64_t part) {
    const double difference = static_cast<double>(x[at]) - static_cast<double>(y[at]);
    sums[part] += difference * difference;
  };
  for (; i + 8 <= count; i += 8) {
    for (std::int64_t part = 0; part < 8; ++part) add(i + part, part);
  }
  for (; i < count; ++i) add(i, i % 8);
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

NearestCentroids::NearestCentroids(const FloatRows& centroids, const CodeKernels& kernels)
    : centroids_(centroids),
      kernels_(kernels),
      pairs_(divide_up(centroids.cols, 2)),
      centre_(static_cast<std::size_t>(centroids.cols)),
      norms_(static_cast<std::size_t>(centroids.count)),
      rounded_(pairs_ * centroids.count * 2) {
  for (std::int64_t b = 0; b < centroids.count; ++b) {
    for (std::size_t i = 0; i < centre_.size(); ++i) centre_[i] += centroids.row(b)[i];
  }
  for (double& value : centre_) value /= static_cast<double>(centroids.count);
  double most = 0;
  for (std::int64_t b = 0; b < centroids.count; ++b) {
    double squares = 0;
    for (std::size_t i = 0; i < centre_.size(); ++i) {
      const double value = centroids.row(b)[i] - centre_[i];
      squares += value * value;
    }
    most = std::max(most, squares);
  }
  if (most > 0) step_ = std::sqrt(most) / kRoundedLength;
  for (std::int64_t b = 0; b < centroids.count; ++b) {
    double squares = 0;
    double lost = 0;
    for (std::int64_t i = 0; i < 2 * pairs_; ++i) {
      double whole = 0;
      if (i < centroids.cols) {
        const double value = centroids.row(b)[i] - centre_[static_cast<std::size_t>(i)];
        whole = std::nearbyint(value / step_);
        const double error = value - whole * step_;
        squares += whole * step_ * whole * step_;
        lost += error * error;
      }
      rounded_[(i / 2 * centroids.count + b) * 2 + i % 2] = static_cast<std::int16_t>(whole);
    }
    norms_[static_cast<std::size_t>(b)] = static_cast<float>(squares);
    longest_ = std::max(longest_, std::sqrt(squares));
    lost_ = std::max(lost_, std::sqrt(lost));
  }
}

NearestCentroids::RoundedRow NearestCentroids::round(const float* row, std::int16_t* out) const {
  double squares = 0;
  for (std::size_t i = 0; i < centre_.size(); ++i) {
    const double value = row[i] - centre_[i];
    squares += value * value;
  }
  RoundedRow rounded;
  out[2 * pairs_ - 1] = 0;
  rounded.step = squares > 0 ? std::sqrt(squares) / kRoundedLength : 1;
  const double inverse = 1 / rounded.step;
  double lost = 0;
  for (std::size_t i = 0; i < centre_.size(); ++i) {
    const double value = row[i] - centre_[i];
    // Adding and taking off a number makes a double round to an integer.
    const double whole = value * inverse + 0x1.8p52 - 0x1.8p52;
    const double kept = whole * rounded.step;
    lost += (value - kept) * (value - kept);
    rounded.squares += kept * kept;
    out[i] = static_cast<std::int16_t>(whole);
  }
  rounded.lost = std::sqrt(lost);
  return rounded;
}

int NearestCentroids::nearest(const float* row, const RoundedRow& rounded,
                              const std::int32_t* products, double* distance) const {
  const double both = std::sqrt(rounded.squares) + longest_;
  std::array<std::uint8_t, 256> close;
  int found = static_cast<int>(centroids_.count);
  if (both * both < kLeastSquare) {
    std::iota(close.begin(), close.begin() + found, std::uint8_t{0});
  } else {
    const CloseTest test{.base = rounded.squares,
                         .apart = 2 * (rounded.lost + lost_),
                         .slack = kOfTheSquare * both * both};
    found = kernels_.close_codewords(
        products, norms_.data(), static_cast<float>(2 * step_ * rounded.step), test, close.data());
  }
  int best = close[0];
  if (found == 1 && distance == nullptr) return best;
  double least = squared_distance(row, centroids_.row(best), centroids_.cols);
  for (int i = 1; i < found; ++i) {
    const int other = close[static_cast<std::size_t>(i)];
    const double key = squared_distance(row, centroids_.row(other), centroids_.cols);
    if (key < least) {
      least = key;
      best = other;
    }
  }
  if (distance != nullptr) *distance = least;
  return best;
}

void NearestCentroids::find(const FloatRows& rows, std::int64_t first, std::int64_t count,
                            std::uint8_t* codes, std::int64_t stride, double* distances) const {
  std::vector<std::int16_t> vectors(static_cast<std::size_t>(kProductVectors * 2 * pairs_));
  std::vector<std::int32_t> products(static_cast<std::size_t>(kProductVectors * centroids_.count));
  std::array<RoundedRow, kProductVectors> rounded;
  for (std::int64_t i = 0; i < count; i += kProductVectors) {
    const std::int64_t some = std::min(kProductVectors, count - i);
    for (std::int64_t v = 0; v < some; ++v) {
      rounded[static_cast<std::size_t>(v)] =
          round(rows.row(first + i + v), vectors.data() + v * 2 * pairs_);
    }
    kernels_.products(vectors.data(), 2 * pairs_, rounded_.data(), pairs_, products.data());
    for (std::int64_t v = 0; v < some; ++v) {
      codes[(i + v) * stride] = static_cast<std::uint8_t>(
          nearest(rows.row(first + i + v), rounded[static_cast<std::size_t>(v)],
                  products.data() + v * centroids_.count,
                  distances == nullptr ? nullptr : distances + i + v));
    }
  }
}

void find_nearest(const FloatRows& rows, const NearestCentroids& centroids, std::uint8_t* codes,
                  std::int64_t stride, double* distances, const CodeWork& work) {
  run_tasks(divide_up(rows.count, kAssignedRows), work.threads, [&](std::int64_t task, int) {
    work.monitor.check();
    const std::int64_t first = task * kAssignedRows;
    const std::int64_t count = std::min(kAssignedRows, rows.count - first);
    centroids.find(rows, first, count, codes + first * stride, stride,
                   distances == nullptr ? nullptr : distances + first);
  });
}

}  // namespace nearfield
