#include "filter/rounded/rotation.hpp"

#include <bit>
#include <cmath>

#include "core/random.hpp"

namespace nearfield {
namespace {

constexpr std::uint64_t kSeed = 0x6e65'6172'6669'656c;

// In place, and divided by the root of their number, which makes it a rotation.
void transform(std::span<float> values) {
  for (std::size_t half = 1; half < values.size(); half *= 2) {
    for (std::size_t block = 0; block < values.size(); block += 2 * half) {
      float* const left = values.data() + block;
      float* const right = left + half;
      for (std::size_t i = 0; i < half; ++i) {
        const float sum = left[i] + right[i];
        const float difference = left[i] - right[i];
        left[i] = sum;
        right[i] = difference;
      }
    }
  }
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(values.size())));
  for (float& value : values) value *= scale;
}

void flip(std::span<float> values, std::span<const float> signs) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= signs[i];
}

}  // namespace

Rotation::Rotation(std::int64_t cols)
    : part_(static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(cols)))) {
  Random random(kSeed);
  signs_.resize(static_cast<std::size_t>(cols + part_));
  for (float& sign : signs_) sign = random.next_u64() >> 63 == 0 ? 1.0F : -1.0F;
}

void Rotation::apply(std::span<float> values) const {
  const auto part = static_cast<std::size_t>(part_);
  const std::span<const float> signs(signs_);
  flip(values, signs.first(values.size()));
  transform(values.first(part));
  if (part == values.size()) return;
  // Other signs: without, it would undo the first where both overlap.
  flip(values.last(part), signs.last(part));
  transform(values.last(part));
}

}  // namespace nearfield
