// The loaders of every ISA against the plain ones of core/decode.hpp.
#include "distance/row_loader.hpp"
#include "core/infinity.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "core/decode.hpp"
#include "core/random.hpp"

namespace nearfield {
namespace {

constexpr DType kNumbers[] = {DType::f64,  DType::f32, DType::f16,
                              DType::bf16, DType::u8,  DType::i8};

// Any bits: denormals, NaNs and infinities among them.
std::vector<std::byte> any_row(DType dtype, std::int64_t cols, Random& random) {
  std::vector<std::byte> row(static_cast<std::size_t>(row_bytes(dtype, cols)));
  for (std::byte& value : row) value = static_cast<std::byte>(random.next_u64() >> 56);
  return row;
}

bool same(const std::vector<double>& x, const std::vector<double>& y) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool equal = std::memcmp(&x[i], &y[i], sizeof(double)) == 0;
    if (!equal && !(std::isnan(x[i]) && std::isnan(y[i]))) return false;
  }
  return true;
}

void expect_same(Isa isa, DType dtype, const std::vector<std::byte>& row, std::int64_t cols) {
  const auto size = static_cast<std::size_t>(cols);
  std::vector<double> expected(size);
  decode_row(dtype, row.data(), cols, expected.data());
  std::vector<double> loaded(size + 1, 0.5);  // and nothing behind the last
  const bool finite =
      row_loaders(isa)[static_cast<std::size_t>(dtype)](row.data(), cols, loaded.data());
  EXPECT_EQ(finite, row_is_finite(dtype, row.data(), cols))
      << to_string(isa) << ' ' << to_string(dtype) << ' ' << cols;
  EXPECT_EQ(loaded.back(), 0.5);
  loaded.pop_back();
  EXPECT_TRUE(same(loaded, expected)) << to_string(isa) << ' ' << to_string(dtype) << ' ' << cols;
}

TEST(RowLoader, LoadsWhatIsDecoded) {
  Random random(1);
  for (const Isa isa : available_isas()) {
    for (const DType dtype : kNumbers) {
      for (std::int64_t cols = 0; cols <= 70; ++cols) {
        expect_same(isa, dtype, any_row(dtype, cols, random), cols);
      }
    }
  }
}

TEST(RowLoader, SeesOneThatIsNotFiniteAtEachPlace) {
  constexpr std::int64_t kCols = 37;
  for (const Isa isa : available_isas()) {
    const RowLoader load = row_loaders(isa)[static_cast<std::size_t>(DType::f32)];
    std::vector<float> row(kCols, std::numeric_limits<float>::max());
    std::vector<double> out(kCols);
    const auto* bytes = reinterpret_cast<const std::byte*>(row.data());
    EXPECT_TRUE(load(bytes, kCols, out.data())) << to_string(isa);
    for (float& value : row) {
      for (const float bad :
           {kFloatInfinity, -kFloatInfinity, std::numeric_limits<float>::quiet_NaN()}) {
        const float before = value;
        value = bad;
        EXPECT_FALSE(load(bytes, kCols, out.data()))
            << to_string(isa) << ' ' << &value - row.data();
        value = before;
      }
    }
  }
}

}  // namespace
}  // namespace nearfield
