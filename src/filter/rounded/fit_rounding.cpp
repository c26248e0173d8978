// Centre and step by a sample of the rows: a poor choice costs survivors, never an answer.
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "core/decode.hpp"
#include "filter/rounded/rounding.hpp"
#include "filter/rounded/tile_kernel.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kSampleRows = 256;
constexpr std::int64_t kSampleValues = 1 << 18;  // a few milliseconds

std::int64_t sample_rows(std::int64_t cols) {
  return std::clamp<std::int64_t>(kSampleValues / cols, 1, kSampleRows);
}

// The sample, row by row, as floats. Rows that are not usual are left out.
std::vector<float> sample(const BaseRounding& rounding, MatrixView rows) {
  const std::int64_t count = std::min(rows.rows(), sample_rows(rounding.cols));
  const auto cols = static_cast<std::size_t>(rounding.cols);
  std::vector<float> found(static_cast<std::size_t>(count) * cols);
  std::vector<double> decoded(cols);
  std::size_t used = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::byte* row = rows.row(i * rows.rows() / count);
    if (!row_is_finite(rounding.base, row, rounding.cols)) continue;
    decode_row(rounding.base, row, rounding.cols, decoded.data());
    const std::optional<double> scale = scale_of(rounding, decoded);
    if (!scale) continue;
    rounding_kernel(rounding.isa).scale(decoded.data(), *scale, rounding.cols, found.data() + used);
    used += cols;
  }
  found.resize(used);
  return found;
}

void take_centre(BaseRounding& rounding, std::span<float> values) {
  const auto cols = static_cast<std::size_t>(rounding.cols);
  const std::size_t rows = values.size() / cols;
  std::vector<float> centres(cols);
  for (std::size_t i = 0; i < cols && rows > 0; ++i) {
    double sum = 0;
    for (std::size_t row = 0; row < rows; ++row) sum += values[row * cols + i];
    const auto centre = static_cast<float>(sum / static_cast<double>(rows));
    for (std::size_t row = 0; row < rows; ++row) values[row * cols + i] -= centre;
    centres[i] = centre;
  }
  rounding.centre_on(std::move(centres));
}

struct Step {
  float step;
  double loss;
};

// What bounds are wider by, on average: what a vector loses, as a query, and what the worst of a
// group loses, as a row of it.
double mean_loss(const RoundingKernel& kernel, std::span<const float> values, std::int64_t cols,
                 float step, std::span<std::int8_t> bytes) {
  const std::int64_t rows = std::ssize(values) / cols;
  double sum = 0;
  double worst = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const double loss =
        std::sqrt(kernel.round(values.data() + row * cols, step, cols, bytes.data()).lost);
    worst = row % kGroupRows == 0 ? loss : std::max(worst, loss);
    sum += loss;
    if (row % kGroupRows == kGroupRows - 1 || row == rows - 1) {
      sum += worst * static_cast<double>(row % kGroupRows + 1);
    }
  }
  return sum;
}

// A few values far from the rest are cut off, if the others gain more than these lose.
Step best_step(const RoundingKernel& kernel, std::span<const float> values, std::int64_t cols) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  Step best{0, std::numeric_limits<double>::infinity()};
  std::vector<std::int8_t> bytes(static_cast<std::size_t>(cols));
  for (const float part : {1.0F, 0.7F, 0.5F, 0.35F, 0.25F}) {
    const float step = std::max(part * largest / kLargestByte, kLeastStep);
    const double loss = mean_loss(kernel, values, cols, step, bytes);
    if (loss < best.loss) best = {step, loss};
  }
  return best;
}

}  // namespace

std::int64_t fit_bytes(std::int64_t cols) {
  return sample_rows(cols) * cols * static_cast<std::int64_t>(sizeof(float)) +
         cols * static_cast<std::int64_t>(sizeof(double) + 3 * sizeof(float) + sizeof(std::int8_t));
}

void fit_rounding(BaseRounding& rounding, MatrixView rows, const Monitor& monitor) {
  // Rotating takes about as long as rounding: it must halve what is lost, in squares.
  constexpr double kWorthwhile = 0.7;
  std::vector<float> values = sample(rounding, rows);
  monitor.check();
  take_centre(rounding, values);
  const RoundingKernel& kernel = rounding_kernel(rounding.isa);
  Step best = best_step(kernel, values, rounding.cols);
  monitor.check();
  Rotation rotation(rounding.cols);
  const auto cols = static_cast<std::size_t>(rounding.cols);
  for (std::size_t row = 0; row < values.size(); row += cols) {
    rotation.apply(kernel, std::span(values).subspan(row, cols));
  }
  if (const Step rotated = best_step(kernel, values, rounding.cols);
      rotated.loss < kWorthwhile * best.loss) {
    best = rotated;
    rounding.rotation = std::move(rotation);
  }
  rounding.step = best.step;
}

}  // namespace nearfield
