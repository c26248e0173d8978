// How vectors become bytes, and what is known of the loss. docs/exactness.md has the proof.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <nearfield/isa.hpp>
#include <nearfield/matrix.hpp>
#include <nearfield/metric.hpp>

#include "core/monitor.hpp"
#include "filter/rounded/rotation.hpp"
#include "filter/rounded/rounding_kernel.hpp"

namespace nearfield {

// What is compared: distances between two vectors, or their products.
enum class Form { distance, product };

// Of a base, and of the queries that it meets.
struct Rounding {
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
};

// Whether and how there are tiles for the metric and the types; what depends on values is left to
// fit_rounding.
std::optional<Rounding> choose_rounding(MetricSpec metric, DType queries, DType base,
                                        std::int64_t cols, Isa isa);

// Sets centre, rotation and step by a sample of the rows. Takes so many bytes.
void fit_rounding(Rounding& rounding, MatrixView rows, const Monitor& monitor);
std::int64_t fit_bytes(std::int64_t cols);

// Of a step, so that what a float cannot hold is nothing beside kSlack.
inline constexpr float kLeastStep = 1e-15F;

// Squares and sums of the numbers of such a vector neither overflow nor vanish in a float.
inline bool is_usual_length(double length) { return length > 1e-15 && length < 1e15; }

// Steps that a value may lose on average before its vector is no longer worth a bound: half of what
// a byte holds.
inline constexpr double kMostLoss = 64;

// What a vector is multiplied by, so that it has length 1 if the rounding wants it so. Empty if its
// numbers are too large or too small for the bounds.
std::optional<double> scale_of(const Rounding& rounding, std::span<const double> decoded);

// Added to bounds, in steps: more than what vanishes below the smallest numbers of a float.
inline constexpr double kSlack = 1e-4;

// What is known of a vector after rounding.
struct Rounded {
  enum class Kind : std::uint8_t {
    usual,
    never,   // not finite: it is in no answer
    always,  // its numbers are too large or too small for useful bounds: it is a candidate
  };
  Kind kind = Kind::usual;
  std::int32_t sum = 0;      // of its bytes
  std::int32_t squares = 0;  // of them
  // In steps, and rounded up: how far it is from what its bytes stand for, and from zero.
  float loss = 0;
  float half_square = 0;  // of the loss
  float length = 0;
  float step = 1;
  double product_with_centre = 0;  // of a query of the product form
};

// Rounds vectors, one at a time.
class Rounder {
 public:
  explicit Rounder(const Rounding& rounding);
  static std::int64_t bytes(std::int64_t cols) { return cols * 12; }

  // Write cols bytes.
  Rounded row(const std::byte* row, std::int8_t* out);
  Rounded query(const std::byte* query, std::int8_t* out);

 private:
  bool load(DType dtype, const std::byte* row);
  void centre();
  void rotate();
  Rounded::Kind kind_of(DType dtype, const std::byte* row) const;
  Rounded unusual(Rounded::Kind kind, std::int8_t* out) const;
  Rounded round(float step, double centre_length, std::int8_t* out) const;

  const Rounding& rounding_;
  const RoundingKernel& kernel_;
  std::vector<double> decoded_;
  double scale_ = 1;
  std::vector<float> values_;
};

}  // namespace nearfield
