#include "core/random.hpp"

#include <cmath>
#include <numbers>

namespace nearfield {
namespace {

constexpr std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
constexpr std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }

}  // namespace

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {high(b) ^ counter[1] ^ key[0], low(b), high(a) ^ counter[3] ^ key[1], low(a)};
    key[0] += 0x9E3779B9;  // the golden ratio, as in the paper
    key[1] += 0xBB67AE85;  // sqrt(3) - 1
  }
  return counter;
}

std::uint64_t Random::next_u64() {
  const std::uint64_t i = position_++;
  const auto block =
      philox({low(i), high(i), low(stream_), high(stream_)}, {low(seed_), high(seed_)});
  return std::uint64_t{block[0]} << 32 | block[1];
}

double Random::uniform() { return static_cast<double>(next_u64() >> 11) * 0x1p-53; }

double Random::normal() {
  // Box-Muller; 1 - u lies in (0, 1], where the logarithm is finite.
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

std::int64_t Random::below(std::int64_t bound) {
  // Multiply-shift; its bias of at most bound / 2^64 is far below what any use here could see.
  const auto wide = static_cast<unsigned __int128>(next_u64()) * static_cast<std::uint64_t>(bound);
  return static_cast<std::int64_t>(wide >> 64);
}

}  // namespace nearfield
