#include "bench/native/cpu/lsh_sift/planted_bytes.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>

#include "core/random.hpp"
#include "core/tasks.hpp"

namespace nearfield::bench {
namespace {

constexpr std::int64_t kClusterRows = 200;
constexpr double kLargestSpread = 36;  // of centres: 3.5 of it on either side of 128 are a byte
constexpr float kWithin = 0.5F;        // of that
constexpr float kMoved = 0.0625F;
constexpr std::uint64_t kCentreSeed = 1;
constexpr std::uint64_t kRowSeed = 2;
constexpr std::int64_t kRowsATask = 4'096;

std::vector<float> falling_spreads(std::int64_t cols) {
  std::vector<float> spreads;
  for (std::int64_t j = 0; j < cols; ++j) {
    spreads.push_back(static_cast<float>(kLargestSpread / std::sqrt(static_cast<double>(j + 1))));
  }
  return spreads;
}

// Zipf's law: the i-th has 1 / i of the first.
std::int64_t drawn_cluster(std::int64_t clusters, Random& random) {
  const double at = std::pow(static_cast<double>(clusters), random.uniform());
  return std::min(static_cast<std::int64_t>(at) - 1, clusters - 1);
}

// Sums of two random bytes, of mean 0 and variance 1: four of a number, since a normal one would
// take longer than all that is measured.
class Noise {
 public:
  explicit Noise(Random& random) : random_(random) {}

  float next() {
    if (left_ == 0) {
      bits_ = random_.next_u64();
      left_ = 4;
    }
    const auto sum = static_cast<int>((bits_ & 255) + ((bits_ >> 8) & 255));
    bits_ >>= 16;
    --left_;
    constexpr float kDeviation = 104.51F;
    return static_cast<float>(sum - 255) / kDeviation;
  }

 private:
  Random& random_;
  std::uint64_t bits_ = 0;
  int left_ = 0;
};

std::byte as_byte(float value) {
  return static_cast<std::byte>(std::clamp(value + 0.5F, 0.0F, 255.0F));
}

void for_rows(std::int64_t rows, const std::function<void(std::int64_t)>& make) {
  run_tasks((rows + kRowsATask - 1) / kRowsATask, usable_cores(), [&](std::int64_t task, int) {
    const std::int64_t end = std::min((task + 1) * kRowsATask, rows);
    for (std::int64_t row = task * kRowsATask; row < end; ++row) make(row);
  });
}

}  // namespace

PlantedBytes::PlantedBytes(std::int64_t rows, std::int64_t cols)
    : spreads_(falling_spreads(cols)),
      clusters_(std::max<std::int64_t>(rows / kClusterRows, 1)),
      centres_(DType::f32, clusters_, cols),
      rows_(DType::u8, rows, cols) {
  for_rows(clusters_, [&](std::int64_t cluster) {
    Random random(kCentreSeed, static_cast<std::uint64_t>(cluster));
    Noise noise(random);
    auto* value = reinterpret_cast<float*>(centres_.row(cluster));
    for (const float spread : spreads_) *value++ = 128 + spread * noise.next();
  });
  for_rows(rows, [&](std::int64_t row) { draw(kRowSeed, row, rows_.row(row)); });
}

void PlantedBytes::draw(std::uint64_t seed, std::int64_t number, std::byte* to) const {
  Random random(seed, static_cast<std::uint64_t>(number));
  const std::int64_t cluster = drawn_cluster(clusters_, random);
  const auto* centre = reinterpret_cast<const float*>(centres_.row(cluster));
  Noise noise(random);
  for (const float spread : spreads_) {
    *to++ = as_byte(*centre++ + kWithin * spread * noise.next());
  }
}

Matrix PlantedBytes::queries(std::int64_t count, std::uint64_t seed) const {
  Matrix queries(DType::u8, count, rows_.cols());
  for (std::int64_t i = 0; i < count; ++i) {
    draw(seed, i, queries.row(i));
    if (i % 2 != 0) continue;
    Random random(seed, static_cast<std::uint64_t>(count + i));
    const std::byte* from = rows_.row(random.below(rows_.rows()));
    std::byte* to = queries.row(i);
    Noise noise(random);
    for (const float spread : spreads_) {
      const auto value = static_cast<float>(std::to_integer<int>(*from++));
      *to++ = as_byte(value + kMoved * spread * noise.next());
    }
  }
  return queries;
}

}  // namespace nearfield::bench
