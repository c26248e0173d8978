// k-means by Lloyd's iterations, with exact assignments.
#pragma once

#include <cstdint>
#include <vector>

#include "code/code_work.hpp"

namespace nearfield {

struct KMeans {
  std::vector<float> centroids;       // [centroid][column]
  std::vector<std::uint8_t> nearest;  // of each row
  std::vector<double> distances;      // squared, of each row from it
};

// `count` rows drawn without replacement: which a k-means begins with. In rising order.
std::vector<std::int64_t> draw_rows(std::int64_t rows, std::int64_t count, std::uint64_t seed,
                                    std::uint64_t stream);

// Who is nearest to which; ties go to the smaller centroid.
void assign(const FloatRows& rows, int centroids, KMeans& state, const CodeWork& work);

// Centroids become the means of their rows. One without rows becomes the row that is farthest from
// its own, each such row once.
void become_means(const FloatRows& rows, int centroids, KMeans& state, const CodeWork& work);

// As many centroids as a codebook has codewords for the kernels, at least as many rows. Assignments
// are those of the centroids returned.
KMeans k_means(const FloatRows& rows, int centroids, int iterations, std::uint64_t seed,
               std::uint64_t stream, const CodeWork& work);

}  // namespace nearfield
