#include "core/random.hpp"

#include <cmath>
#include <numbers>

namespace nearfield {
namespace {

constexpr std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
constexpr std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }

// By + - * / alone, which are the same bits everywhere; the C library's logarithm is another on
// machines with fused multiply-add. ln(m 2^e) = e ln 2 + 2 atanh((m-1)/(m+1)), m in [0.7, 1.4).
double natural_log(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < std::numbers::sqrt2 / 2) {
    m *= 2;
    --exponent;
  }
  const double s = (m - 1) / (m + 1);  // at most 0.172: the 11th term is below 2^-54
  const double square = s * s;
  double series = 0;
  for (int odd = 21; odd >= 1; odd -= 2) series = series * square + 1.0 / odd;
  return exponent * std::numbers::ln2 + 2 * s * series;
}

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
  // Marsaglia's polar method: a point in the unit disc, and only a logarithm and a root.
  for (;;) {
    const double x = 2 * uniform() - 1;
    const double y = 2 * uniform() - 1;
    const double s = x * x + y * y;
    if (s > 0 && s < 1) return x * std::sqrt(-2 * natural_log(s) / s);
  }
}

std::int64_t Random::below(std::int64_t bound) {
  // Multiply-shift; its bias of at most bound / 2^64 is far below what any use here could see.
  const auto wide = static_cast<unsigned __int128>(next_u64()) * static_cast<std::uint64_t>(bound);
  return static_cast<std::int64_t>(wide >> 64);
}

}  // namespace nearfield
