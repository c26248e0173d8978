#include "filter/rounded/rotation.hpp"

#include <bit>

#include "core/random.hpp"

namespace nearfield {
namespace {

constexpr std::uint64_t kSeed = 0x6e65'6172'6669'656c;

}  // namespace

Rotation::Rotation(std::int64_t cols)
    : part_(static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(cols)))) {
  Random random(kSeed);
  signs_.resize(static_cast<std::size_t>(2 * part_));
  for (float& sign : signs_) sign = random.next_u64() >> 63 == 0 ? 1.0F : -1.0F;
}

void Rotation::apply(const RoundingKernel& kernel, std::span<float> values) const {
  kernel.transform(signs_.data(), part_, values.data());
  const std::int64_t behind = std::ssize(values) - part_;
  // Other signs: without, it would undo the first where both overlap.
  if (behind > 0) kernel.transform(signs_.data() + part_, part_, values.data() + behind);
}

}  // namespace nearfield
