#include "bench/native/cpu/descriptors.hpp"

#include <algorithm>
#include <cstddef>

#include "core/random.hpp"

namespace nearfield::bench {

Matrix made_up_descriptors(std::int64_t rows, std::uint64_t seed) {
  constexpr std::int64_t kCols = 128;
  Matrix matrix(DType::u8, rows, kCols);
  Random random(seed);
  for (std::int64_t i = 0; i < rows; ++i) {
    Random centre(7, static_cast<std::uint64_t>(random.below(200)));
    for (std::int64_t j = 0; j < kCols; ++j) {
      const double value = static_cast<double>(centre.below(160)) + 10 * random.normal();
      matrix.row(i)[j] = static_cast<std::byte>(std::clamp(value, 0.0, 255.0));
    }
  }
  return matrix;
}

}  // namespace nearfield::bench
