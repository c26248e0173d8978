#include "bench/native/gpu/uniform.hpp"

#include <algorithm>
#include <cmath>

#include <nearfield/pairwise.hpp>

#include "bench/native/gpu/measuring.hpp"
#include "core/random.hpp"
#include "core/tasks.hpp"

namespace nearfield::bench {
namespace {

// The number of columns does not matter to a selection: few are soon computed.
constexpr std::int64_t kDistanceCols = 16;
// Tables are float64: 32 MiB at a time.
constexpr std::int64_t kTableRows = 1 << 16;
constexpr std::int64_t kTableQueries = 64;

}  // namespace

Matrix uniform_vectors(std::int64_t rows, std::int64_t cols, std::uint64_t seed,
                       std::int64_t first) {
  Matrix vectors(DType::f32, rows, cols);
  run_tasks(rows, usable_cores(), [&](std::int64_t i, int) {
    Random random(seed, static_cast<std::uint64_t>(first + i));
    auto* const row = reinterpret_cast<float*>(vectors.row(i));
    std::generate_n(row, cols, [&] { return static_cast<float>(random.uniform()); });
  });
  return vectors;
}

Matrix bytes_of(const Matrix& vectors) {
  Matrix bytes(DType::u8, vectors.rows(), vectors.cols());
  for (std::int64_t i = 0; i < vectors.rows(); ++i) {
    const auto* const row = reinterpret_cast<const float*>(vectors.row(i));
    std::transform(row, row + vectors.cols(), reinterpret_cast<std::uint8_t*>(bytes.row(i)),
                   [](float x) { return static_cast<std::uint8_t>(std::lround(255 * x)); });
  }
  return bytes;
}

std::vector<float> uniform_distances(std::int64_t queries, std::int64_t rows) {
  const Matrix asking = uniform_vectors(queries, kDistanceCols, kQuerySeed);
  std::vector<float> distances(place(queries * rows));
  for (std::int64_t row = 0; row < rows; row += kTableRows) {
    const Matrix piece =
        uniform_vectors(std::min(kTableRows, rows - row), kDistanceCols, kRowSeed, row);
    for (std::int64_t query = 0; query < queries; query += kTableQueries) {
      const std::int64_t count = std::min(kTableQueries, queries - query);
      const Pairwise table = pairwise(asking.view().slice(query, count), piece);
      for (std::int64_t i = 0; i < count; ++i) {
        const auto found = table.values_of(i);
        std::transform(found.begin(), found.end(), distances.begin() + ((query + i) * rows + row),
                       [](double key) { return static_cast<float>(key); });
      }
    }
  }
  return distances;
}

}  // namespace nearfield::bench
