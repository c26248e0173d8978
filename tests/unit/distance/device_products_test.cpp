// On the device that NEARFIELD_TEST_DEVICE names.
#include "distance/device_products.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "core/decode.hpp"
#include "core/random.hpp"
#include "device/gpu/open.hpp"
#include "distance/gpu/product_tiles.hpp"
#include "tests/unit/expect_error.hpp"

namespace nearfield {
namespace {

struct Shape {
  std::int64_t queries;
  std::int64_t rows;
  std::int64_t cols;
};

// Around the sizes of fragments, pieces and tiles.
const std::vector<Shape> kShapes = {{1, 1, 1},       {3, 5, 7},      {16, 16, 16}, {17, 15, 33},
                                    {65, 130, 100},  {128, 128, 64}, {129, 1, 65}, {1, 300, 128},
                                    {130, 257, 129}, {2, 3, 1000}};

std::string name(const Shape& shape) {
  return fmt::format("{} x {} x {}", shape.queries, shape.rows, shape.cols);
}

class DeviceProductsTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* const device = std::getenv("NEARFIELD_TEST_DEVICE");
    if (device == nullptr) GTEST_SKIP() << "no device: name one in NEARFIELD_TEST_DEVICE";
    context_.device = device;
  }

  std::vector<float> products(MatrixView queries, MatrixView rows, ProductKind kind,
                              ProductOutput output = ProductOutput::product) {
    std::vector<float> found(static_cast<std::size_t>(queries.rows() * rows.rows()), -1);
    Monitor monitor(context_, queries.rows() * rows.rows());
    scale_ = device_products(queries, rows, kind, output, context_, monitor, found.data()).scale;
    return found;
  }

  std::vector<std::int32_t> byte_products(MatrixView queries, MatrixView rows,
                                          ProductOutput output = ProductOutput::product) {
    std::vector<std::int32_t> found(static_cast<std::size_t>(queries.rows() * rows.rows()), -1);
    Monitor monitor(context_, queries.rows() * rows.rows());
    device_byte_products(queries, rows, output, context_, monitor, found.data());
    return found;
  }

  void expect_within_bound(MatrixView queries, MatrixView rows, ProductKind kind);

  Context context_;
  ProductScale scale_;  // of the last products
};

// The definition, of bytes.
std::vector<std::int32_t> exact(MatrixView queries, MatrixView rows, ProductOutput output) {
  const auto cols = static_cast<std::size_t>(rows.cols());
  std::vector<double> x(cols);
  std::vector<double> y(cols);
  std::vector<std::int32_t> found;
  for (std::int64_t query = 0; query < queries.rows(); ++query) {
    decode_row(queries.dtype(), queries.row(query), queries.cols(), x.data());
    for (std::int64_t row = 0; row < rows.rows(); ++row) {
      decode_row(rows.dtype(), rows.row(row), rows.cols(), y.data());
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < cols; ++i) {
        sum += static_cast<std::int64_t>(
            output == ProductOutput::product ? x[i] * y[i] : (x[i] - y[i]) * (x[i] - y[i]));
      }
      found.push_back(static_cast<std::int32_t>(sum));
    }
  }
  return found;
}

double rounded_to_half(double x) {
  if (x == 0 || !std::isfinite(x)) return x;
  const double unit = std::ldexp(1.0, std::max(std::ilogb(x), -14) - 10);
  return std::nearbyint(x / unit) * unit;
}

std::vector<double> scaled_halves(MatrixView rows, std::int64_t row, int scale) {
  std::vector<double> values(static_cast<std::size_t>(rows.cols()));
  decode_row(rows.dtype(), rows.row(row), rows.cols(), values.data());
  for (double& x : values) x = rounded_to_half(std::ldexp(x, scale));
  return values;
}

void DeviceProductsTest::expect_within_bound(MatrixView queries, MatrixView rows,
                                             ProductKind kind) {
  const std::vector<float> found = products(queries, rows, kind);
  std::size_t at = 0;
  for (std::int64_t query = 0; query < queries.rows(); ++query) {
    const std::vector<double> x = scaled_halves(queries, query, scale_.queries);
    for (std::int64_t row = 0; row < rows.rows(); ++row) {
      const std::vector<double> y = scaled_halves(rows, row, scale_.rows);
      double sum = 0;
      double magnitudes = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        sum += x[i] * y[i];
        magnitudes += std::fabs(x[i] * y[i]);
      }
      const double scaled = std::ldexp(found[at++], scale_.queries + scale_.rows);
      const double error = product_error(kind, rows.cols(), magnitudes);
      ASSERT_TRUE(std::isfinite(scaled)) << "query " << query << ", row " << row;
      ASSERT_LE(std::fabs(scaled - sum), error)
          << "query " << query << ", row " << row << ": " << scaled << " for " << sum;
    }
  }
}

template <class Value>
std::vector<Value> random_values(const Shape& shape, std::int64_t rows, std::uint64_t seed) {
  Random random(seed);
  std::vector<Value> values(static_cast<std::size_t>(rows * shape.cols));
  for (Value& x : values) {
    if constexpr (std::is_same_v<Value, float>) {
      x = static_cast<float>(100 * random.normal());
    } else {
      x = static_cast<Value>(random.below(256));
    }
  }
  return values;
}

template <class Query, class Row, class Check>
void for_each_shape(const Check& check) {
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(name(shape));
    const auto queries = random_values<Query>(shape, shape.queries, 1);
    const auto rows = random_values<Row>(shape, shape.rows, 2);
    check(MatrixView(queries.data(), shape.queries, shape.cols),
          MatrixView(rows.data(), shape.rows, shape.cols));
  }
}

TEST_F(DeviceProductsTest, BytesAreExact) {
  const auto check = [&](MatrixView queries, MatrixView rows) {
    for (const ProductOutput output : {ProductOutput::product, ProductOutput::sqeuclidean}) {
      EXPECT_EQ(byte_products(queries, rows, output), exact(queries, rows, output));
    }
  };
  for_each_shape<std::uint8_t, std::uint8_t>(check);
  for_each_shape<std::int8_t, std::int8_t>(check);
  for_each_shape<std::uint8_t, std::int8_t>(check);
  for_each_shape<std::int8_t, std::uint8_t>(check);
}

// What is in between wraps, the sums do not.
TEST_F(DeviceProductsTest, LargestSumsOfBytesAreExact) {
  constexpr std::int64_t kCols = 33'025;  // the most of which 255^2 fit 31 bits
  const std::vector<std::uint8_t> largest(kCols, 255);
  const std::vector<std::uint8_t> zeros(kCols, 0);
  const MatrixView queries(largest.data(), 1, kCols);
  const MatrixView rows(zeros.data(), 1, kCols);
  const std::int32_t sum = 255 * 255 * 33'025;
  EXPECT_EQ(byte_products(queries, queries).front(), sum);
  EXPECT_EQ(byte_products(queries, rows).front(), 0);
  EXPECT_EQ(byte_products(queries, rows, ProductOutput::sqeuclidean).front(), sum);
  const std::vector<std::uint8_t> longer(kCols + 1);
  const MatrixView too_long(longer.data(), 1, kCols + 1);
  test::expect_error([&] { byte_products(too_long, too_long); }, ErrorCode::unsupported,
                     {"33026", "33025"});
}

TEST_F(DeviceProductsTest, HalvesAreWithinTheirBound) {
  for (const ProductKind kind : {ProductKind::f16, ProductKind::f16_acc16}) {
    const auto check = [&](MatrixView queries, MatrixView rows) {
      expect_within_bound(queries, rows, kind);
    };
    for_each_shape<float, float>(check);
    for_each_shape<float, std::uint8_t>(check);
    for_each_shape<std::int8_t, float>(check);
  }
}

TEST_F(DeviceProductsTest, HalvesOfHalves) {
  std::vector<Float16> values(7 * 40);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i].bits = static_cast<std::uint16_t>(i * 12'345 % 0x7c00 | (i % 3 == 0 ? 0x8000 : 0));
  }
  const MatrixView rows(values.data(), 7, 40);
  expect_within_bound(rows, rows, ProductKind::f16);
  expect_within_bound(rows, rows, ProductKind::f16_acc16);
}

// 128 x 255^2 is more than a hundred times the largest half.
TEST_F(DeviceProductsTest, LargestBytesDoNotOverflow) {
  for (const std::int64_t cols : {128, 127, 2047}) {
    const std::vector<std::uint8_t> bytes(static_cast<std::size_t>(2 * cols), 255);
    const MatrixView rows(bytes.data(), 2, cols);
    expect_within_bound(rows, rows, ProductKind::f16);
    expect_within_bound(rows, rows, ProductKind::f16_acc16);
  }
}

// Integers this small are exact in 32 bits.
TEST_F(DeviceProductsTest, DistancesOfBytesByHalves) {
  for_each_shape<std::uint8_t, std::uint8_t>([&](MatrixView queries, MatrixView rows) {
    if (rows.cols() > 100) return;
    const std::vector<std::int32_t> expected = exact(queries, rows, ProductOutput::sqeuclidean);
    EXPECT_EQ(products(queries, rows, ProductKind::f16, ProductOutput::sqeuclidean),
              std::vector<float>(expected.begin(), expected.end()));
  });
}

TEST_F(DeviceProductsTest, VectorsThatAreNotFiniteSpoilOnlyTheirOwn) {
  std::vector<float> values(20 * 30, 1.5F);
  values[3 * 30 + 7] = std::numeric_limits<float>::infinity();
  values[11 * 30] = std::numeric_limits<float>::quiet_NaN();
  const MatrixView rows(values.data(), 20, 30);
  const std::vector<float> found = products(rows.slice(0, 3), rows, ProductKind::f16);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::size_t row = i % 20;
    EXPECT_EQ(std::isfinite(found[i]), row != 3 && row != 11) << "row " << row;
  }
}

TEST_F(DeviceProductsTest, SmallerTilesAreTheSame) {
  const Shape shape{300, 700, 40};
  const auto queries = random_values<float>(shape, shape.queries, 3);
  const auto rows = random_values<float>(shape, shape.rows, 4);
  const MatrixView query_view(queries.data(), shape.queries, shape.cols);
  const MatrixView row_view(rows.data(), shape.rows, shape.cols);
  const auto run = [&] {
    return products(query_view, row_view, ProductKind::f16, ProductOutput::sqeuclidean);
  };
  const std::vector<float> expected = run();
  context_.device_memory_limit = 200'000;
  EXPECT_EQ(run(), expected);
  context_.device_memory_limit = 1000;
  test::expect_error(run, ErrorCode::memory_limit, {"1000", "128 x 128"});
}

// Has less memory for a buffer than it says.
class SmallDevice final : public gpu::Device {
 public:
  SmallDevice(gpu::Device& device, std::int64_t largest) : device_(device), largest_(largest) {}

  const gpu::Facts& facts() const override { return device_.facts(); }
  std::unique_ptr<gpu::Queue> make_queue(std::uintptr_t stream) override {
    return device_.make_queue(stream);
  }
  std::unique_ptr<gpu::Buffer> allocate(std::int64_t bytes) override {
    if (bytes > largest_) {
      ++refused;
      throw gpu::OutOfMemory("no memory");
    }
    return device_.allocate(bytes);
  }
  std::unique_ptr<gpu::Memory> wrap(std::uintptr_t address, std::int64_t bytes) override {
    return device_.wrap(address, bytes);
  }
  std::unique_ptr<gpu::Memory> map(const void* from, std::int64_t bytes) override {
    return device_.map(from, bytes);
  }
  std::vector<gpu::ModuleUse> module_uses() const override { return device_.module_uses(); }

  int refused = 0;

 private:
  gpu::Device& device_;
  std::int64_t largest_;
};

TEST_F(DeviceProductsTest, WithoutMemoryTilesAreMadeSmaller) {
  const Shape shape{300, 700, 40};
  const auto queries = random_values<std::uint8_t>(shape, shape.queries, 5);
  const auto rows = random_values<std::uint8_t>(shape, shape.rows, 6);
  const MatrixView query_view(queries.data(), shape.queries, shape.cols);
  const MatrixView row_view(rows.data(), shape.rows, shape.cols);
  const ProductStep step(DType::u8, DType::u8, shape.cols, ProductKind::i8, ProductOutput::product,
                         {});
  std::vector<std::int32_t> found;
  const auto run = [&](gpu::Device& device) {
    Monitor monitor(context_, shape.queries * shape.rows);
    found.assign(static_cast<std::size_t>(shape.queries * shape.rows), -1);
    run_product_tiles(device, query_view, row_view, step, context_, monitor,
                      reinterpret_cast<std::byte*>(found.data()));
  };
  SmallDevice small(gpu::open_device(context_.device).device, 100'000);
  run(small);
  EXPECT_GT(small.refused, 1);
  EXPECT_EQ(found, exact(query_view, row_view, ProductOutput::product));
  SmallDevice none(gpu::open_device(context_.device).device, 1000);
  EXPECT_THROW(run(none), gpu::OutOfMemory);
}

// What is left to do where a library has multiplied.
TEST_F(DeviceProductsTest, ProductsOfALibraryAreEnded) {
  const gpu::Opened opened = gpu::open_device(context_.device);
  const auto queue = opened.device.make_queue(0);
  const std::vector<float> of_queries{1, 2};
  const std::vector<float> of_rows{10, 20, 30};
  const std::vector<float> products{1, 2, 3, 4, 5, 6};
  const auto buffer_of = [&](const auto& values) {
    auto buffer = opened.device.allocate(std::ssize(values) * 4);
    queue->write(*buffer, values.data());
    return buffer;
  };
  const auto queries = buffer_of(of_queries);
  const auto rows = buffer_of(of_rows);
  const auto found = buffer_of(products);
  end_products(*queue, {*queries, 2}, {*rows, 3}, false, -0.5F, *found);
  std::vector<float> ended(6);
  queue->read(*found, ended.data());
  queue->wait();
  EXPECT_EQ(ended, (std::vector<float>{10.5, 20, 29.5, 10, 19.5, 29}));

  const std::vector<std::int32_t> sums{1, -2, 3, 4, 5, 6};
  const std::vector<std::int32_t> sums_of_queries{100, 200};
  const std::vector<std::int32_t> sums_of_rows{7, 8, 9};
  const auto byte_products = buffer_of(sums);
  const auto byte_queries = buffer_of(sums_of_queries);
  const auto byte_rows = buffer_of(sums_of_rows);
  end_products(*queue, {*byte_queries, 2}, {*byte_rows, 3}, true, std::int32_t{-2}, *byte_products);
  std::vector<std::int32_t> ended_bytes(6);
  queue->read(*byte_products, ended_bytes.data());
  queue->wait();
  EXPECT_EQ(ended_bytes, (std::vector<std::int32_t>{105, 112, 103, 199, 198, 197}));
}

TEST_F(DeviceProductsTest, WhatCannotBeMultipliedIsAnError) {
  const std::vector<double> wide(4);
  const std::vector<float> narrow(4);
  const MatrixView doubles(wide.data(), 2, 2);
  const MatrixView floats(narrow.data(), 2, 2);
  test::expect_error([&] { products(doubles, floats, ProductKind::f16); }, ErrorCode::unsupported,
                     {"f64"});
  test::expect_error([&] { products(floats, floats, ProductKind::i8); },
                     ErrorCode::invalid_argument, {"integers"});
  test::expect_error([&] { byte_products(floats, floats); }, ErrorCode::unsupported, {"f32"});
  test::expect_error([&] { products(floats, MatrixView(narrow.data(), 1, 4), ProductKind::f16); },
                     ErrorCode::invalid_argument, {"2", "4"});
}

TEST_F(DeviceProductsTest, NothingIsNothing) {
  const std::vector<float> values(8, 1);
  const MatrixView rows(values.data(), 2, 4);
  EXPECT_TRUE(products(rows.slice(0, 0), rows, ProductKind::f16).empty());
  EXPECT_TRUE(products(rows, rows.slice(0, 0), ProductKind::f16).empty());
}

}  // namespace
}  // namespace nearfield
