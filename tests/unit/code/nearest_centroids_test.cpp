#include "code/nearest_centroids.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include <nearfield/knn.hpp>

#include "tests/unit/code/code_reference.hpp"

namespace nearfield {
namespace {

// Rows against centroids: what knn finds, with its keys.
void expect_nearest(const std::vector<float>& rows, const std::vector<float>& centroids, int words,
                    std::int64_t cols) {
  const std::int64_t count = std::ssize(rows) / cols;
  KnnOptions options;
  options.k = 1;
  const Neighbors expected =
      knn(MatrixView(rows.data(), count, cols), MatrixView(centroids.data(), words, cols), options);
  for (const Isa isa : available_isas()) {
    Context context;
    context.isa = isa;
    Monitor monitor(context, 1);
    const CodeWork work{code_kernels(isa, words), context, 2, monitor};
    const NearestCentroids nearest({centroids.data(), words, cols, cols}, work.kernels);
    std::vector<std::uint8_t> codes(static_cast<std::size_t>(3 * count));
    std::vector<double> distances(static_cast<std::size_t>(count));
    find_nearest({rows.data(), count, cols, cols}, nearest, codes.data() + 1, 3, distances.data(),
                 work);
    for (std::int64_t i = 0; i < count; ++i) {
      ASSERT_EQ(codes[static_cast<std::size_t>(3 * i + 1)],
                expected.ids[static_cast<std::size_t>(i)])
          << to_string(isa) << " " << i;
    }
    EXPECT_EQ(distances, expected.keys) << to_string(isa);
  }
}

TEST(NearestCentroids, AreThoseOfKnn) {
  for (const int words : {16, 256}) {
    for (const std::int64_t cols : {1, 4, 7, 16, 128}) {
      const auto rows = test::rows_to_code(1100, cols);
      const auto centroids = test::rows_to_code(words, cols, 5);
      expect_nearest(rows, centroids, words, cols);
    }
  }
}

TEST(NearestCentroids, AlsoWhereManyAreEquallyNear) {
  // Whole numbers: ties everywhere, and rows that are centroids.
  Random random(8);
  const std::int64_t cols = 3;
  std::vector<float> rows(static_cast<std::size_t>(600 * cols));
  for (float& value : rows) value = static_cast<float>(random.below(4));
  const std::vector<float> centroids(rows.begin(), rows.begin() + 256 * cols);
  expect_nearest(rows, centroids, 256, cols);
  // All the same: the first is nearest.
  expect_nearest(rows, std::vector<float>(static_cast<std::size_t>(16 * cols), 2.0F), 16, cols);
}

TEST(NearestCentroids, AlsoFarAway) {
  const std::int64_t cols = 8;
  auto rows = test::rows_to_code(300, cols);
  const auto centroids = test::rows_to_code(256, cols, 5);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] += i % 16 < 8 ? 1e6F : -3e12F;
  expect_nearest(rows, centroids, 256, cols);
}

TEST(NearestCentroids, AlsoWhereValuesAreTiny) {
  const std::int64_t cols = 8;
  for (const int words : {16, 256}) {
    const auto rows = test::rows_to_code(300, cols);
    const auto centroids = test::rows_to_code(words, cols, 5);
    const auto times = [](std::vector<float> values, float size) {
      for (float& value : values) value *= size;
      return values;
    };
    for (const float size : {1e-12F, 1e-15F, 1e-16F, 1e-17F, 1e-18F, 1e-20F, 1e-22F, 1e-40F}) {
      SCOPED_TRACE(size);
      expect_nearest(times(rows, size), times(centroids, size), words, cols);
      expect_nearest(rows, times(centroids, size), words, cols);
      expect_nearest(times(rows, size), centroids, words, cols);
    }
  }
}

}  // namespace
}  // namespace nearfield
