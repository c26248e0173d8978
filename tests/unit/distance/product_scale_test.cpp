#include "distance/product_scale.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace nearfield {
namespace {

// The sum that is largest with 16 bits, where each addition is rounded up.
double largest_sum(double largest, std::int64_t cols) {
  const ProductScale scale = product_scale(largest, largest, cols, ProductKind::f16_acc16);
  return 2 * static_cast<double>(cols) * std::ldexp(largest, scale.queries) *
         std::ldexp(largest, scale.rows);
}

TEST(ProductScale, NoSumOf16BitsOverflows) {
  for (const std::int64_t cols : {1, 2, 3, 127, 128, 129, 960, 2047, 4096, 65'536}) {
    for (const double largest : {1e-6, 0.3, 1.0, 2.0, 127.0, 128.0, 255.0, 1e9}) {
      const double sum = largest_sum(largest, cols);
      EXPECT_LE(sum, 65504) << largest << " in " << cols << " columns";
      EXPECT_GT(sum, 65504 / 16.0) << "bits are wasted";
    }
  }
}

TEST(ProductScale, BytesOf128ColumnsAreScaledAsItsCommentSays) {
  const ProductScale scale = product_scale(255, 255, 128, ProductKind::f16_acc16);
  EXPECT_EQ(scale.queries, -5);
  EXPECT_EQ(scale.rows, -4);
}

TEST(ProductScale, HalvesDoNotOverflowWith32Bits) {
  for (const double largest : {1e-12, 1.0, 65'504.0, 1e20}) {
    const ProductScale scale = product_scale(largest, 1, 100, ProductKind::f16);
    EXPECT_LE(std::ldexp(largest, scale.queries), 0x1p15);
    EXPECT_GT(std::ldexp(largest, scale.queries), 0x1p13);
  }
  EXPECT_EQ(product_scale(0, 0, 100, ProductKind::f16).queries, 0);
}

TEST(ProductScale, LargestValueIsFinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {1, -7, infinity, 3, std::nanf(""), 2};
  EXPECT_EQ(largest_value(MatrixView(values.data(), 2, 3), 1), 7);
  EXPECT_EQ(largest_value(MatrixView(values.data(), 0, 3), 1), 0);
  const std::vector<std::uint8_t> bytes = {1, 2};
  EXPECT_EQ(largest_value(MatrixView(bytes.data(), 1, 2), 1), 255);
}

}  // namespace
}  // namespace nearfield
