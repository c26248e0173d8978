// Vectors rounded to halves, and what that loses: what round.cu is given.
#pragma once

#include <cstdint>
#include <memory>

#include <nearfield/matrix.hpp>

#include "device/gpu/array_tiles.hpp"
#include "device/gpu/gpu.hpp"

namespace nearfield {

// As in round.cu.
enum class RoundedForm : std::uint8_t { plain, row_of_distances, row_of_products };

struct Rounding16 {
  std::int64_t cols;
  bool unit;       // values over the length of their vector
  double scale;    // then times this: halves are at most 2^15
  double epsilon;  // what products are off at most, of both squares
  double least;    // of its length, the loss of a row of products
};

struct RoundedVectors {
  std::unique_ptr<gpu::Buffer> values;  // padded to whole tiles and pieces
  std::unique_ptr<gpu::Buffer> terms;   // two float32 each, by the form
};

inline constexpr std::int64_t kRoundedTermsBytes = 8;

// Pieces of a row of halves.
std::int64_t half_pieces(std::int64_t cols);
// On the device, of each vector; and of the padding to whole tiles.
std::int64_t rounded_bytes(std::int64_t cols);
std::int64_t rounded_padding(std::int64_t cols);

// Memory for so many.
RoundedVectors room_for_rounded(gpu::Device& device, std::int64_t count, std::int64_t cols);

// to: room for as many or more.
void round_vectors(gpu::Queue& queue, const gpu::ArrayTile& source, DType dtype, std::int64_t count,
                   const Rounding16& rounding, RoundedForm form, const RoundedVectors& to);
RoundedVectors round_vectors(gpu::Device& device, gpu::Queue& queue, const gpu::ArrayTile& source,
                             DType dtype, std::int64_t count, const Rounding16& rounding,
                             RoundedForm form);

// Of a value of vectors of a usual length; 0 where there is none.
float largest_magnitude(gpu::Device& device, gpu::Queue& queue, const gpu::ArrayTile& source,
                        DType dtype, std::int64_t count, std::int64_t cols);

}  // namespace nearfield
