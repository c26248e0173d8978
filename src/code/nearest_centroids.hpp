// The nearest of a codebook's codewords, exactly: 16-bit products say which may be it, float64
// decides.
#pragma once

#include <cstdint>
#include <vector>

#include "code/code_work.hpp"
#include "core/aligned_array.hpp"
#include "core/checked.hpp"

namespace nearfield {

// By the triangle inequality: a rounded vector is as far from what it was as rounding moved it, so
// that a distance between rounded ones is off by no more than what both lost. Where more than one
// centroid may be the nearest, their distances are taken as the sums of sqeuclidean, and ties go to
// the smaller number: the answers are those of knn.
class NearestCentroids {
 public:
  // As many as a codebook has codewords for `kernels`. Looks at them.
  NearestCentroids(const FloatRows& centroids, const CodeKernels& kernels);

  // Beside them, with what so many threads take to find.
  static std::int64_t bytes_for(int centroids, std::int64_t cols, int threads) {
    const std::int64_t rounded = 2 * round_up(cols, 2);
    return centroids * (rounded + 4) + cols * 8 +
           threads * kProductVectors * (rounded + 4 * centroids);
  }

  // Of rows [first, first + count): codes, `stride` apart, and if not null the squared distances.
  void find(const FloatRows& rows, std::int64_t first, std::int64_t count, std::uint8_t* codes,
            std::int64_t stride, double* distances) const;

 private:
  // What is known of a row that was rounded.
  struct RoundedRow {
    double step = 0;
    double squares = 0;  // of what it became
    double lost = 0;     // the length of the difference
  };
  RoundedRow round(const float* row, std::int16_t* out) const;
  int nearest(const float* row, const RoundedRow& rounded, const std::int32_t* products,
              double* distance) const;

  FloatRows centroids_;
  const CodeKernels& kernels_;
  std::int64_t pairs_;
  std::vector<double> centre_;
  double step_ = 1;
  double longest_ = 0;                  // of what the centroids became
  double lost_ = 0;                     // the most that one of them lost
  std::vector<float> norms_;            // squares of what they became
  AlignedArray<std::int16_t> rounded_;  // [pair][centroid][2]
};

// All rows, in parallel; codes and distances as above. The monitor is asked, and hears nothing.
void find_nearest(const FloatRows& rows, const NearestCentroids& centroids, std::uint8_t* codes,
                  std::int64_t stride, double* distances, const CodeWork& work);

// The key of sqeuclidean: eight partial sums, joined by its tree.
double squared_distance(const float* x, const float* y, std::int64_t count);

}  // namespace nearfield
