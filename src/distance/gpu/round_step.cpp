#include "distance/gpu/round_step.hpp"

#include <algorithm>

#include "core/checked.hpp"
#include "distance/gpu/close_step.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kHalfBytes = 2;
// Each goes round: as many as keep any device busy.
constexpr std::int64_t kLargestBlocks = 1024;

}  // namespace

std::int64_t half_pieces(std::int64_t cols) {
  return divide_up(std::max<std::int64_t>(cols, 1) * kHalfBytes, kProductPieceBytes);
}

std::int64_t rounded_bytes(std::int64_t cols) {
  return half_pieces(cols) * kProductPieceBytes + kRoundedTermsBytes;
}

std::int64_t rounded_padding(std::int64_t cols) {
  return (kProductTile - 1) * half_pieces(cols) * kProductPieceBytes;
}

RoundedVectors room_for_rounded(gpu::Device& device, std::int64_t count, std::int64_t cols) {
  const std::int64_t bytes = half_pieces(cols) * kProductPieceBytes;
  return {device.allocate(round_up(count, kProductTile) * bytes),
          device.allocate(count * kRoundedTermsBytes)};
}

void round_vectors(gpu::Queue& queue, const gpu::ArrayTile& source, DType dtype, std::int64_t count,
                   const Rounding16& rounding, RoundedForm form, const RoundedVectors& to) {
  const std::int64_t bytes = half_pieces(rounding.cols) * kProductPieceBytes;
  queue.run(
      {"round", "round_to_halves"}, {round_up(count, kProductTile), 1},
      {*source.rows, static_cast<std::uint64_t>(source.stride), static_cast<std::uint32_t>(count),
       static_cast<std::uint32_t>(rounding.cols), static_cast<std::uint32_t>(dtype), rounding.scale,
       std::uint32_t{rounding.unit}, static_cast<std::uint32_t>(form), rounding.epsilon,
       rounding.least, *to.values, static_cast<std::uint32_t>(bytes / 4), *to.terms});
}

RoundedVectors round_vectors(gpu::Device& device, gpu::Queue& queue, const gpu::ArrayTile& source,
                             DType dtype, std::int64_t count, const Rounding16& rounding,
                             RoundedForm form) {
  RoundedVectors rounded = room_for_rounded(device, count, rounding.cols);
  round_vectors(queue, source, dtype, count, rounding, form, rounded);
  return rounded;
}

float largest_magnitude(gpu::Device& device, gpu::Queue& queue, const gpu::ArrayTile& source,
                        DType dtype, std::int64_t count, std::int64_t cols) {
  const auto found = device.allocate(sizeof(float));
  float largest = 0;
  const gpu::WaitAtEnd wait(queue);
  queue.fill(*found, 0);
  queue.run(
      {"round", "largest_value"}, {std::clamp<std::int64_t>(count, 1, kLargestBlocks), 1},
      {*source.rows, static_cast<std::uint64_t>(source.stride), static_cast<std::uint32_t>(count),
       static_cast<std::uint32_t>(cols), static_cast<std::uint32_t>(dtype), *found});
  queue.read(*found, &largest);
  queue.wait();
  return largest;
}

}  // namespace nearfield
