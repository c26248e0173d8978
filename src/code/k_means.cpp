#include "code/k_means.hpp"

#include <algorithm>
#include <numeric>

#include "code/nearest_centroids.hpp"
#include "core/random.hpp"
#include "core/tasks.hpp"

namespace nearfield {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// Rows by falling distance, then rising number: the first `count` of them.
std::vector<std::int64_t> farthest_rows(const std::vector<double>& distances, std::int64_t count) {
  std::vector<std::int64_t> rows(distances.size());
  std::iota(rows.begin(), rows.end(), 0);
  const auto farther = [&](std::int64_t a, std::int64_t b) {
    return distances[at(a)] > distances[at(b)] || (distances[at(a)] == distances[at(b)] && a < b);
  };
  std::partial_sort(rows.begin(), rows.begin() + count, rows.end(), farther);
  rows.resize(at(count));
  return rows;
}

}  // namespace

std::vector<std::int64_t> draw_rows(std::int64_t rows, std::int64_t count, std::uint64_t seed,
                                    std::uint64_t stream) {
  Random random(seed, stream);
  std::vector<std::int64_t> drawn;
  drawn.reserve(at(count));
  for (std::int64_t row = 0; std::ssize(drawn) < count; ++row) {
    if (random.below(rows - row) < count - std::ssize(drawn)) drawn.push_back(row);
  }
  return drawn;
}

void assign(const FloatRows& rows, int centroids, KMeans& state, const CodeWork& work) {
  state.nearest.resize(at(rows.count));
  state.distances.resize(at(rows.count));
  const NearestCentroids nearest({state.centroids.data(), centroids, rows.cols, rows.cols},
                                 work.kernels);
  find_nearest(rows, nearest, state.nearest.data(), 1, state.distances.data(), work);
}

void become_means(const FloatRows& rows, int centroids, KMeans& state, const CodeWork& work) {
  std::vector<double> sums(at(centroids * rows.cols));
  std::vector<std::int64_t> counts(at(centroids));
  for (std::int64_t row = 0; row < rows.count; ++row) {
    if (row % (1 << 16) == 0) work.monitor.check();
    const int centroid = state.nearest[at(row)];
    ++counts[at(centroid)];
    double* const sum = sums.data() + centroid * rows.cols;
    const float* const values = rows.row(row);
    for (std::int64_t i = 0; i < rows.cols; ++i) sum[i] += values[i];
  }
  const auto empty = std::count(counts.begin(), counts.end(), 0);
  const auto farthest = farthest_rows(state.distances, empty);
  std::size_t next = 0;
  for (int centroid = 0; centroid < centroids; ++centroid) {
    float* const out = state.centroids.data() + centroid * rows.cols;
    const std::int64_t members = counts[at(centroid)];
    if (members == 0) {
      std::copy_n(rows.row(farthest[next++]), rows.cols, out);
      continue;
    }
    for (std::int64_t i = 0; i < rows.cols; ++i) {
      out[i] =
          static_cast<float>(sums[at(centroid * rows.cols + i)] / static_cast<double>(members));
    }
  }
}

KMeans k_means(const FloatRows& rows, int centroids, int iterations, std::uint64_t seed,
               std::uint64_t stream, const CodeWork& work) {
  KMeans state;
  for (const std::int64_t row : draw_rows(rows.count, centroids, seed, stream)) {
    state.centroids.insert(state.centroids.end(), rows.row(row), rows.row(row) + rows.cols);
  }
  for (int i = 0; i < iterations; ++i) {
    assign(rows, centroids, state, work);
    become_means(rows, centroids, state, work);
    work.monitor.advance(rows.count);
  }
  assign(rows, centroids, state, work);
  return state;
}

}  // namespace nearfield
