// On the device that NEARFIELD_TEST_DEVICE names: what products are held against.
#include "distance/gpu/naive_step.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include "core/decode.hpp"
#include "core/random.hpp"
#include "device/gpu/open.hpp"
#include "tests/unit/expect_error.hpp"

namespace nearfield {
namespace {

class DeviceNaiveTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* const device = std::getenv("NEARFIELD_TEST_DEVICE");
    if (device == nullptr) GTEST_SKIP() << "no device: name one in NEARFIELD_TEST_DEVICE";
    device_ = &gpu::open_device(device).device;
    queue_ = device_->make_queue(0);
  }

  gpu::ArrayTile placed(const Matrix& vectors) {
    gpu::ArrayTile tile{device_->allocate(vectors.bytes()), vectors.view().stride_bytes()};
    queue_->write(*tile.rows, vectors.row(0));
    queue_->wait();
    return tile;
  }

  std::vector<float> read(const gpu::Buffer& buffer) {
    std::vector<float> values(static_cast<std::size_t>(buffer.bytes()) / sizeof(float));
    queue_->read(buffer, values.data());
    queue_->wait();
    return values;
  }

  gpu::Device* device_ = nullptr;
  std::unique_ptr<gpu::Queue> queue_;
};

Matrix random_bytes(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  Matrix bytes(DType::u8, rows, cols);
  Random random(seed, 0);
  for (std::int64_t i = 0; i < bytes.bytes(); ++i) {
    bytes.row(0)[i] = static_cast<std::byte>(random.uniform() * 256);
  }
  return bytes;
}

// In float64, in one go.
double distance_of(const Matrix& queries, std::int64_t query, const Matrix& rows,
                   std::int64_t row) {
  std::vector<double> x(static_cast<std::size_t>(rows.cols()));
  std::vector<double> y(x.size());
  decode_row(queries.dtype(), queries.row(query), queries.cols(), x.data());
  decode_row(rows.dtype(), rows.row(row), rows.cols(), y.data());
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
  return sum;
}

// Sums up to 2^24 are integers in float32 too, whatever their order.
TEST_F(DeviceNaiveTest, DistancesOfBytesAreExact) {
  for (const std::int64_t cols : {1, 31, 128, 130}) {
    const Matrix queries = random_bytes(5, cols, 1);
    const Matrix rows = random_bytes(37, cols, 2);
    const gpu::ArrayTile query_tile = placed(queries);
    const gpu::ArrayTile row_tile = placed(rows);
    // Some of both, from their middle.
    const auto found = device_->allocate(3 * 30 * sizeof(float));
    naive_distances(*queue_, {query_tile, DType::u8, 2, 3}, {row_tile, DType::u8, 7, 30}, cols,
                    *found);
    const std::vector<float> distances = read(*found);
    for (std::int64_t i = 0; i < 3 * 30; ++i) {
      ASSERT_EQ(distances[static_cast<std::size_t>(i)],
                distance_of(queries, 2 + i / 30, rows, 7 + i % 30))
          << cols << " columns, pair " << i;
    }
  }
}

TEST_F(DeviceNaiveTest, DistancesOfFloatsAreThoseOfFloat32) {
  constexpr std::int64_t kCols = 100;
  Matrix vectors(DType::f32, 9, kCols);
  Random random(3, 0);
  auto* const values = reinterpret_cast<float*>(vectors.row(0));
  for (std::int64_t i = 0; i < 9 * kCols; ++i) {
    values[i] = static_cast<float>(random.uniform()) - 0.5F;
  }
  const gpu::ArrayTile tile = placed(vectors);
  const auto found = device_->allocate(9 * 9 * sizeof(float));
  naive_distances(*queue_, {tile, DType::f32, 0, 9}, {tile, DType::f32, 0, 9}, kCols, *found);
  const std::vector<float> distances = read(*found);
  for (std::int64_t i = 0; i < 9 * 9; ++i) {
    const double expected = distance_of(vectors, i / 9, vectors, i % 9);
    // A difference, its square and at most kCols sums are rounded.
    EXPECT_NEAR(distances[static_cast<std::size_t>(i)], expected, expected * (kCols + 3) * 0x1p-24)
        << i;
  }
}

TEST_F(DeviceNaiveTest, WhatTheKernelDoesNotReadIsRefused) {
  const Matrix rows(DType::f64, 2, 8);
  const gpu::ArrayTile tile = placed(rows);
  const auto found = device_->allocate(4 * sizeof(float));
  test::expect_error(
      [&] {
        naive_distances(*queue_, {tile, DType::f64, 0, 2}, {tile, DType::f64, 0, 2}, 8, *found);
      },
      ErrorCode::invalid_argument, {"f64"});
}

TEST_F(DeviceNaiveTest, TablesBecomeHalves) {
  // A half has 11 bits; a scale keeps what is too large or too small for one.
  const std::vector<float> values = {0,    1,     -2049,    2049, 2051, 1 + 0x1p-12F,
                                     1e6F, -1e6F, 0x1p-20F, 65504};
  const auto table = device_->allocate(static_cast<std::int64_t>(values.size()) * 4);
  queue_->write(*table, values.data());
  round_to_halves(*queue_, *table, std::ssize(values), 0);
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(read(*table),
            (std::vector<float>{0, 1, -2048, 2048, 2052, 1, infinity, -infinity, 0x1p-20F, 65504}));
  queue_->write(*table, values.data());
  round_to_halves(*queue_, *table, std::ssize(values), -6);
  EXPECT_EQ(read(*table),
            (std::vector<float>{0, 1, -2048, 2048, 2052, 1, 999936, -999936, 0, 65504}));
}

}  // namespace
}  // namespace nearfield
