// How vectors become bytes, and what is known of the loss. docs/exactness.md has the proof.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include <nearfield/isa.hpp>
#include <nearfield/matrix.hpp>
#include <nearfield/metric.hpp>

#include "core/infinity.hpp"
#include "core/monitor.hpp"
#include "filter/rounded/rotation.hpp"

namespace nearfield {

// What is compared: distances between two vectors, or their products.
enum class Form { distance, product };

// Of a base, and of the queries that it meets.
struct BaseRounding {
  Form form = Form::distance;
  DType base = DType::u8;
  DType queries = DType::u8;
  std::int64_t cols = 0;
  Isa isa = Isa::scalar;

  // Bytes that are taken as they are: nothing is lost. Of unsigned ones 128 is taken off first,
  // which leaves distances as they are.
  bool lossless = false;
  std::int32_t offset() const { return lossless && base == DType::u8 ? 128 : 0; }

  // Else: a vector is scaled to length 1 (for cosine), the centre is taken off, it is rotated, and
  // each value is rounded to a multiple of the step. Queries of the product form keep the centre
  // and have a step of their own.
  bool unit = false;
  std::vector<float> centre;
  double centre_length = 0;
  std::optional<Rotation> rotation;
  float step = 1;

  void centre_on(std::vector<float> point);
  bool fitted() const { return lossless || !centre.empty(); }
};

// Whether and how there are tiles for the metric and the types; what depends on values is left to
// fit_rounding.
std::optional<BaseRounding> choose_rounding(MetricSpec metric, DType queries, DType base,
                                            std::int64_t cols, Isa isa);

// Sets centre, rotation and step by a sample of the rows. Takes so many bytes.
void fit_rounding(BaseRounding& rounding, MatrixView rows, const Monitor& monitor);
std::int64_t fit_bytes(std::int64_t cols);

// Of a step, so that what a float cannot hold is nothing beside kSlack.
inline constexpr float kLeastStep = 1e-15F;

// Squares and sums of the numbers of such a vector neither overflow nor vanish in a float.
inline bool is_usual_length(double length) { return length > 1e-15 && length < 1e15; }

// What becomes of a vector.
enum class VectorKind : std::uint8_t {
  usual,
  never,   // not finite: it is in no answer
  always,  // its numbers are too large or too small for useful bounds: it is a candidate
};

// What a vector is multiplied by, so that it has length 1 if the rounding wants it so. Empty if its
// numbers are too large or too small for the bounds.
std::optional<double> scale_of(const BaseRounding& rounding, std::span<const double> decoded);

// What a query's sums must reach, where it does not depend on them: infinity finds no row,
// -infinity every row. Empty where the threshold decides.
inline std::optional<double> certain_level(VectorKind query, double threshold) {
  if (query == VectorKind::never) return kInfinity;
  if (query == VectorKind::always || threshold == kInfinity) return -kInfinity;
  if (threshold == -kInfinity) return kInfinity;  // no product of usual vectors is
  return std::nullopt;
}

// The most that lies between two vectors whose key is at most the threshold, in the units of the
// vectors that are rounded; less than 0 if none do. Of Form::distance.
double most_distance(const BaseRounding& rounding, double threshold);

// Rounded up to a float.
inline float rounded_up(double x) {
  return std::nextafter(static_cast<float>(x), std::numeric_limits<float>::infinity());
}

}  // namespace nearfield
