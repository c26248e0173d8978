// Arrays that a device reads where they are, on the one that NEARFIELD_TEST_DEVICE names. Memory of
// the host that is mapped goes the way that memory of a card goes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <nearfield/nearfield.hpp>

#include "core/decode.hpp"
#include "core/random.hpp"
#include "device/gpu/array_tiles.hpp"
#include "device/gpu/open.hpp"
#include "distance/device_keys.hpp"
#include "tests/oracle/data.hpp"
#include "tests/unit/expect_error.hpp"

namespace nearfield {
namespace {

using gpu::HostReads;
using test::expect_error;

class DeviceArrays : public testing::Test {
 protected:
  void SetUp() override {
    const char* const device = std::getenv("NEARFIELD_TEST_DEVICE");
    if (device == nullptr) GTEST_SKIP() << "NEARFIELD_TEST_DEVICE names no device to test on";
    context_.device = device;
  }
  void TearDown() override { gpu::force_host_reads({}); }

  gpu::Device& device() const { return gpu::open_device(context_.device).device; }

  Context context_;
};

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

TEST_F(DeviceArrays, PairwiseIsTheSameMappedAndCopied) {
  struct Case {
    MetricSpec metric;
    DType dtype;
    std::int64_t cols;
  };
  // Of bits: whole words, and not.
  for (const auto& [metric, dtype, cols] :
       {Case{Metric::sqeuclidean, DType::f64, 33}, Case{Metric::cosine, DType::f32, 77},
        Case{Metric::l1, DType::f16, 5}, Case{Metric::linf, DType::bf16, 8},
        Case{Metric::inner_product, DType::u8, 31}, Case{Metric::hamming, DType::bits, 128},
        Case{Metric::jaccard, DType::bits, 77}}) {
    const Matrix queries = data::make_matrix({data::Kind::gaussian, dtype, 21, cols, 1});
    const Matrix rows = data::make_matrix({data::Kind::gaussian, dtype, 130, cols, 2});
    const data::Strided strided(rows, 40, 1);
    for (const MatrixView& view : {rows.view(), strided.view()}) {
      const std::vector<double> want = pairwise(queries, view, {metric}).values;
      for (const HostReads how : {HostReads::copied, HostReads::mapped}) {
        gpu::force_host_reads(how);
        for (const std::int64_t limit : {std::int64_t{1} << 30, std::int64_t{30'000}}) {
          context_.device_memory_limit = limit;
          const Pairwise got = pairwise(queries, view, {metric}, context_);
          EXPECT_TRUE(same_bits(got.values, want))
              << to_string(metric) << " of " << to_string(dtype) << ", stride "
              << view.stride_bytes() << ", way " << static_cast<int>(how) << ", limit " << limit;
        }
      }
    }
  }
}

TEST_F(DeviceArrays, BothSidesMayBeOneArray) {
  const Matrix rows = data::make_matrix({data::Kind::gaussian, DType::f32, 50, 20, 1});
  gpu::force_host_reads(HostReads::mapped);
  EXPECT_TRUE(same_bits(pairwise(rows, rows, {}, context_).values, pairwise(rows, rows).values));
}

template <class T>
void expect_selected(const Context& context) {
  constexpr std::int64_t kRows = 5;
  constexpr std::int64_t kCols = 3'001;
  constexpr std::int64_t kStride = 3'007;  // values
  Random random(5);
  std::vector<T> values(static_cast<std::size_t>(kRows * kStride));
  // Many that differ in their last bits only, which the key of a float64 does not tell.
  for (T& value : values) value = static_cast<T>(1 + 1e-9 * static_cast<double>(random.below(900)));
  values[7] = std::numeric_limits<T>::quiet_NaN();
  values[8] = T{-0.0};
  values[9] = -std::numeric_limits<T>::infinity();
  std::vector<std::int64_t> ids(static_cast<std::size_t>(kCols));
  for (std::int64_t& id : ids) id = random.below(1'000'000);
  for (const std::int64_t stride : {kCols, kStride}) {
    const ValuesView view(values.data(), kRows, kCols,
                          stride * static_cast<std::int64_t>(sizeof(T)));
    for (const bool largest : {false, true}) {
      for (const bool with_ids : {false, true}) {
        SelectOptions options{.k = 50, .largest = largest};
        if (with_ids) options.ids = ids;
        const Selected want = select_k(view, options);
        for (const HostReads how : {HostReads::copied, HostReads::mapped}) {
          gpu::force_host_reads(how);
          const Selected got = select_k(view, options, context);
          EXPECT_EQ(got.ids, want.ids);
          EXPECT_TRUE(same_bits(got.values, want.values))
              << sizeof(T) << " bytes, stride " << stride << ", largest " << largest << ", ids "
              << with_ids << ", way " << static_cast<int>(how);
        }
      }
    }
  }
}

TEST_F(DeviceArrays, SelectIsTheSameMappedAndCopied) {
  expect_selected<float>(context_);
  expect_selected<double>(context_);
}

TEST_F(DeviceArrays, WhatIsReadInPlaceTakesNoMemory) {
  const Matrix rows = data::make_matrix({data::Kind::gaussian, DType::f32, 40, 6, 1});
  const auto queue = device().make_queue(0);
  const gpu::ByteRows array = gpu::byte_rows(PlacedRows{rows.view()});
  const auto bytes = [&](gpu::RowLayout layout, HostReads how, std::int64_t row_bytes) {
    return gpu::ArrayTiles(device(), *queue, array, layout, how).bytes(10, row_bytes);
  };
  EXPECT_EQ(bytes({}, HostReads::mapped, 24), 0);
  EXPECT_EQ(bytes({}, HostReads::copied, 24), 240);
  EXPECT_EQ(bytes({.close = true}, HostReads::mapped, 24), 0);
  EXPECT_EQ(bytes({.close = true}, HostReads::mapped, 20), 200) << "a part of each row";
  EXPECT_EQ(bytes({.word = 8}, HostReads::mapped, 24), 0);
  EXPECT_EQ(bytes({.word = 16}, HostReads::mapped, 24), 320) << "no whole words";
}

// By the definition, which the host has.
TEST_F(DeviceArrays, FlawsAreFoundThere) {
  const Monitor monitor(context_, 0);
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    for (const std::int64_t cols : {1, 7, 300}) {
      const Matrix rows = data::make_matrix({data::Kind::with_non_finite, dtype, 200, cols, 3});
      const data::Strided strided(rows, 40, 3);
      const std::vector<bool> found = device_flaws({strided.view()}, context_, monitor);
      ASSERT_EQ(found.size(), 200);
      int flawed = 0;
      for (std::int64_t row = 0; row < 200; ++row) {
        const bool finite = row_is_finite(dtype, rows.row(row), cols);
        EXPECT_EQ(found[static_cast<std::size_t>(row)], !finite) << to_string(dtype) << ' ' << row;
        flawed += finite ? 0 : 1;
      }
      EXPECT_GT(flawed, 0);
      context_.device_memory_limit = 40 * (row_bytes(dtype, cols) + 4);
      EXPECT_EQ(device_flaws({strided.view()}, context_, monitor), found) << "in pieces";
      context_.device_memory_limit = {};
    }
  }
}

TEST_F(DeviceArrays, BitsBeyondTheColumnsAreFoundThere) {
  const Monitor monitor(context_, 0);
  Matrix rows = data::make_matrix({data::Kind::gaussian, DType::bits, 9, 77, 4});
  EXPECT_EQ(device_flaws({rows.view()}, context_, monitor), std::vector<bool>(9));
  rows.row(5)[9] |= std::byte{0x20};
  std::vector<bool> want(9);
  want[5] = true;
  EXPECT_EQ(device_flaws({rows.view()}, context_, monitor), want);
  const Matrix whole = data::make_matrix({data::Kind::gaussian, DType::bits, 9, 64, 4});
  EXPECT_EQ(device_flaws({whole.view()}, context_, monitor), std::vector<bool>(9));
}

TEST_F(DeviceArrays, RowsAreCopiedOnTheDevice) {
  const auto queue = device().make_queue(0);
  const std::string text = "abc.def.";
  const auto from = device().allocate(8);
  const auto to = device().allocate(10);
  queue->write(*from, text.data());
  queue->fill(*to, '-');
  queue->copy(*to, *from, {.count = 2, .bytes = 3, .from_stride = 4, .to_stride = 5});
  std::string found(10, ' ');
  queue->read(*to, found.data());
  queue->wait();
  EXPECT_EQ(found, "abc--def--");
}

TEST_F(DeviceArrays, MemoryWithoutAddressesIsRefused) {
  if (!context_.device.starts_with("opencl")) GTEST_SKIP() << "that of CUDA has addresses";
  const DeviceArray array{.data = 4096, .rows = 2, .cols = 3};
  for (const auto& call : std::vector<std::function<void()>>{
           [&] { pairwise(array, array, {}, context_); },
           [&] { select_k(array, {}, context_); },
       }) {
    expect_error(call, ErrorCode::unsupported, {"24 bytes at 0x1000", "an array of the host"});
  }
  EXPECT_THROW(device().make_queue(0)->wait_for(5), Error);
}

// With arrays that are large enough, measured; the note of the plan says what.
TEST_F(DeviceArrays, TheWayIsMeasuredOnce) {
  gpu::force_host_reads({});
  const Matrix rows = data::make_matrix({data::Kind::gaussian, DType::f32, 20'000, 64, 1});
  const Matrix queries = data::make_matrix({data::Kind::gaussian, DType::f32, 3, 64, 2});
  const Pairwise first = pairwise(queries, rows, {}, context_);
  EXPECT_NE(first.stats.plan.note.find("a sample took"), std::string::npos)
      << first.stats.plan.note;
  EXPECT_TRUE(same_bits(first.values, pairwise(queries, rows).values));
  EXPECT_EQ(pairwise(queries, rows, {}, context_).stats.plan.note, first.stats.plan.note);
  const Selected selected = select_k(rows, {.k = 3}, context_);
  EXPECT_NE(selected.stats.plan.note.find("a sample took"), std::string::npos);
  RecordProperty("pairwise", first.stats.plan.note);
  RecordProperty("select_k", selected.stats.plan.note);
}

TEST(DeviceArray, NeedsADevice) {
  const DeviceArray array{.data = 4096, .rows = 2, .cols = 3};
  expect_error([&] { pairwise(array, array); }, ErrorCode::invalid_argument,
               {"queries, 2 x 3 of f32", "memory of a device", "cuda:0"});
  Context cpu;
  cpu.device = "cpu";
  expect_error([&] { select_k(array, {}, cpu); }, ErrorCode::invalid_argument,
               {"values, 2 x 3 of f32", "memory of a device", "cuda:0"});
}

}  // namespace
}  // namespace nearfield
