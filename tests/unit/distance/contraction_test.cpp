// Keys are sums without fused multiply-add, on every ISA.
#include <gtest/gtest.h>

#include <cmath>

#include <nearfield/nearfield.hpp>

#include <vector>

#include "distance/kernels.hpp"

namespace nearfield {
namespace {

// Elements 0 and 8 meet in partial sum 0. With b = 1 + 2^-30, b*b is 1 + 2^-29 + 2^-60 and rounds
// to 1 + 2^-29, which element 0 takes away again: 0. A fused multiply-add keeps the 2^-60.
TEST(Contraction, IsOffOnEveryIsa) {
  const double b = 1 + 0x1p-30;
  std::vector<double> x(9, 0.0);
  std::vector<double> y(9, 0.0);
  x[0] = -(1 + 0x1p-29);
  y[0] = 1;
  x[8] = b;
  y[8] = b;
  for (const Isa isa : available_isas()) {
    PreparedQuery query(DType::f64, 9, isa);
    query.load(reinterpret_cast<const std::byte*>(x.data()));
    const auto& by_type =
        distance_kernels(isa).metrics[static_cast<int>(Metric::inner_product)].keys;
    double key = NAN;
    by_type[static_cast<int>(DType::f64)]({.query = query.data(),
                                           .rows = reinterpret_cast<const std::byte*>(y.data()),
                                           .stride = 72,
                                           .row_bytes = 72,
                                           .picks = nullptr,
                                           .count = 1,
                                           .p = 0,
                                           .keys = &key});
    EXPECT_EQ(key, 0.0) << to_string(isa);
  }
}

}  // namespace
}  // namespace nearfield
