// Queries and rows as bf16, and what is known of the loss. docs/exactness.md has the proof.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <nearfield/matrix.hpp>

#include "core/aligned_array.hpp"
#include "core/monitor.hpp"
#include "filter/rounded/loaded_vector.hpp"
#include "filter/rounded/rounding.hpp"
#include "filter/rounded/tile_queries.hpp"
#include "filter/rounded/tile_rows.hpp"

namespace nearfield {

// A sum of products by tiles is off by at most this part of the lengths' product, in whatever order
// it is added up: 2^-24 for each of cols additions, of up to 31 more with zeros, and of those of a
// comparison, which are 4. The other 29 are for nothing, and the factor is for products of errors.
constexpr double bf16_sum_error(std::int64_t cols) {
  return static_cast<double>(cols + 64) * 0x1p-24 * (1 + 0x1p-9);
}

// For the float32 arithmetic on terms that are small beside the sum: each rounds by 2^-24.
inline constexpr double kBf16TermError = 0x1p-20;

// What is known of a vector after rounding.
struct Bf16Vector {
  VectorKind kind = VectorKind::usual;
  double squares = 0;  // of its rounded values
  double loss = 0;     // at least how far it is from them
  // Of a query of the product form: its length, by which it is divided before; its product with the
  // centre, as it was.
  double divisor = 1;
  double product_with_centre = 0;
};

// Of a usual vector that is loaded, whose values change. Write cols values. Rotations are left out:
// what a value loses is a part of itself.
Bf16Vector round_row_to_bf16(const BaseRounding& rounding, LoadedVector& loaded,
                             std::uint16_t* out);
Bf16Vector round_query_to_bf16(const BaseRounding& rounding, LoadedVector& loaded,
                               std::uint16_t* out);

// Loads and rounds vectors, one at a time.
class Bf16Rounder {
 public:
  explicit Bf16Rounder(const BaseRounding& rounding) : rounding_(rounding), vector_(rounding) {}
  static std::int64_t bytes(std::int64_t cols) { return LoadedVector::bytes(cols); }

  // Write cols values, of an unusual vector zeros.
  Bf16Vector row(const std::byte* row, std::uint16_t* out);
  Bf16Vector query(const std::byte* query, std::uint16_t* out);

 private:
  const BaseRounding& rounding_;
  LoadedVector vector_;
};

class Bf16Rows {
 public:
  // `first` is the number of the first row.
  Bf16Rows(const BaseRounding& rounding, MatrixView rows, std::int64_t first, int threads,
           Monitor& monitor);

  static std::int64_t bytes_per_row(std::int64_t cols);
  static std::int64_t fixed_bytes(std::int64_t cols, int threads);

  const TileRows& tiles() const { return tiles_; }

  // For Bf16TileJob, of a row that begins a group.
  const float* bias(std::int64_t row) const { return bias_.data() + tiles_.offset(row); }
  const float* term(std::int64_t row) const { return term_.data() + tiles_.offset(row); }

  // At least the length of any usual row. Of Form::product.
  double longest() const { return longest_; }

 private:
  void round_group(const BaseRounding& rounding, MatrixView rows, std::int64_t group,
                   Bf16Rounder& rounder, std::byte* out);
  void set_terms(const BaseRounding& rounding, std::int64_t row, const Bf16Vector& vector);
  void find_longest(double centre_length, const Monitor& monitor);

  TileRows tiles_;
  AlignedArray<float> bias_;
  AlignedArray<float> term_;
  double longest_ = 0;
};

class Bf16Queries {
 public:
  // `first` is the number of the first query.
  Bf16Queries(const BaseRounding& rounding, MatrixView queries, std::int64_t first, int threads,
              const Monitor& monitor);

  static std::int64_t bytes_per_query(std::int64_t cols);
  static std::int64_t fixed_bytes(std::int64_t cols, int threads);

  const TileQueries& tiles() const { return tiles_; }
  const Bf16Vector& of(std::int64_t query) const {
    return vectors_[static_cast<std::size_t>(tiles_.offset(query))];
  }

 private:
  TileQueries tiles_;
  std::vector<Bf16Vector> vectors_;
};

}  // namespace nearfield
