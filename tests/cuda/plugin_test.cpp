// The host code of the CUDA plugin, on a runtime that is made up: no kernel runs here.
#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "cuda/fake_runtime.hpp"
#include "device/gpu/gpu.hpp"

extern "C" const nearfield::gpu::PluginEntry nearfield_device_plugin;

namespace nearfield::gpu {
namespace {

constexpr std::size_t kMemory = 1 << 20;

class CudaPluginTest : public testing::Test {
 protected:
  CudaPluginTest() {
    fake::runtime() = {};
    fake::runtime().cards = {
        {"Old", 6, 1, kMemory}, {"First", 8, 6, kMemory}, {"Second", 9, 0, kMemory}};
  }

  static const Plugin& plugin() { return nearfield_device_plugin.plugin(); }

  static std::string missing() {
    try {
      plugin().list();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported);
      return error.what();
    }
    return "nothing";
  }
};

TEST_F(CudaPluginTest, SaysWhatIsMissing) {
  fake::runtime().driver = 0;
  EXPECT_EQ(missing(), "the CUDA driver libcuda.so.1 was not found: install the NVIDIA driver");
  fake::runtime().driver = 12040;
  fake::runtime().counted = cudaErrorInsufficientDriver;
  EXPECT_EQ(missing().find("the NVIDIA driver runs CUDA up to 12.4, and this is built for "), 0);
  fake::runtime().counted = cudaErrorNoDevice;
  EXPECT_EQ(
      missing(),
      "no card of compute capability 7.5 or newer was found among the 0 that the NVIDIA driver "
      "shows: install one");
  fake::runtime().counted = cudaSuccess;
  fake::runtime().cards.resize(1);
  EXPECT_EQ(
      missing(),
      "no card of compute capability 7.5 or newer was found among the 1 that the NVIDIA driver "
      "shows: install one; Old has 6.1");
}

TEST_F(CudaPluginTest, ListsCardsThatAreNewEnough) {
  const std::vector<Facts> all = plugin().list();
  ASSERT_EQ(all.size(), 2);
  EXPECT_EQ(all[0].name, "First");
  EXPECT_EQ(all[1].name, "Second");
  EXPECT_EQ(all[1].driver, "driver for CUDA 13.0, compute capability 9.0");
  EXPECT_EQ(all[1].memory, std::int64_t{kMemory});
  EXPECT_EQ(all[1].warp, 32);
  EXPECT_EQ(fake::runtime().current, -1) << "listing starts no card";
}

TEST_F(CudaPluginTest, CopiesRowsThereAndBack) {
  const auto device = plugin().open(1);
  const auto queue = device->make_queue(0);
  const auto buffer = device->allocate(12);
  queue->fill(*buffer, 0xFF);
  const std::array<std::uint8_t, 8> rows = {1, 2, 3, 0, 4, 5, 6, 0};
  queue->write(*buffer, rows.data(), {2, 3, 4, 5});
  std::array<std::uint8_t, 12> found{};
  std::array<std::uint8_t, 8> rows_again{};
  queue->read(*buffer, found.data());
  queue->read(*buffer, rows_again.data(), {2, 3, 4, 5});
  queue->wait();
  EXPECT_EQ(found,
            (std::array<std::uint8_t, 12>{1, 2, 3, 0xFF, 0xFF, 4, 5, 6, 0xFF, 0xFF, 0xFF, 0xFF}));
  EXPECT_EQ(rows_again, rows);
}

TEST_F(CudaPluginTest, LeavesTheCallersCardCurrent) {
  for (const int callers : {-1, 0, 1}) {
    fake::runtime().current = callers;
    {
      const auto device = plugin().open(1);
      const auto buffer = device->allocate(4);
      EXPECT_EQ(fake::runtime().memories.begin()->second, 2);
      const auto queue = device->make_queue(0);
      EXPECT_EQ(fake::runtime().current, callers);
      queue->fill(*buffer, 1);
      queue->run({"first", "keys"}, {7, 3}, {*buffer, std::uint64_t{5}, 2.5});
      queue->wait();
      EXPECT_EQ(fake::runtime().launches.back().card, 2);
      EXPECT_EQ(fake::runtime().current, callers);
      EXPECT_THROW(device->allocate(std::int64_t{kMemory}), OutOfMemory);
      EXPECT_EQ(fake::runtime().current, callers);
    }
    EXPECT_EQ(fake::runtime().current, callers);
    EXPECT_TRUE(fake::runtime().memories.empty());
    EXPECT_TRUE(fake::runtime().streams.empty());
  }
}

TEST_F(CudaPluginTest, LaunchesWithItsArguments) {
  const auto device = plugin().open(0);
  const auto buffer = device->allocate(4);
  const auto queue = device->make_queue(0);
  queue->run({"second", "keys"}, {7, 3}, {std::uint64_t{5}, *buffer, *buffer});
  const fake::Launch& launch = fake::runtime().launches.back();
  EXPECT_EQ(launch.kernel, "keys");
  EXPECT_EQ(launch.grid.x, 7);
  EXPECT_EQ(launch.grid.y, 3);
  EXPECT_EQ(launch.block.x, 128);
  void* const memory = fake::runtime().memories.begin()->first;
  EXPECT_EQ(launch.arguments, (std::vector<void*>{reinterpret_cast<void*>(5), memory, memory}));
}

TEST_F(CudaPluginTest, RefusesKernelsThatAreNotThere) {
  const auto device = plugin().open(0);
  const auto buffer = device->allocate(4);
  const auto queue = device->make_queue(0);
  EXPECT_THROW(queue->run({"third", "keys"}, {}, {*buffer, *buffer, *buffer}), Error);
  EXPECT_THROW(queue->run({"first", "missing"}, {}, {*buffer, *buffer, *buffer}), Error);
}

TEST_F(CudaPluginTest, ACallersStreamStaysTheCallers) {
  int place = 0;
  const auto stream = reinterpret_cast<std::uintptr_t>(&place);
  const auto device = plugin().open(0);
  const auto buffer = device->allocate(4);
  {
    const auto queue = device->make_queue(stream);
    EXPECT_TRUE(fake::runtime().streams.empty());
    queue->run({"first", "keys"}, {}, {*buffer, *buffer, *buffer});
    EXPECT_EQ(fake::runtime().launches.back().stream, reinterpret_cast<cudaStream_t>(stream));
  }
  EXPECT_EQ(fake::runtime().waits, 1) << "what is queued has run before the queue is gone";
}

// found[q][r] is the product of left row q and right row r.
TEST_F(CudaPluginTest, ProductsAreRowMajor) {
  const auto device = plugin().open(0);
  const auto queue = device->make_queue(0);
  constexpr std::int64_t kWidth = 64;
  std::array<std::int8_t, 2 * kWidth> left{};
  std::array<std::int8_t, 4 * kWidth> right{};
  left[0] = 3;
  left[1] = 5;
  left[kWidth + 1] = 7;
  for (int row = 0; row < 4; ++row) {
    right[static_cast<std::size_t>(row * kWidth)] = static_cast<std::int8_t>(row);
    right[static_cast<std::size_t>(row * kWidth + 1)] = 1;
  }
  const auto left_buffer = device->allocate(sizeof(left));
  const auto right_buffer = device->allocate(sizeof(right));
  const auto found = device->allocate(2 * 4 * 4);
  queue->write(*left_buffer, left.data());
  queue->write(*right_buffer, right.data());
  Product product{Product::Values::i8, *left_buffer, 2, *right_buffer, 4, kWidth, *found};
  ASSERT_TRUE(queue->multiply(product));
  std::array<std::int32_t, 8> products{};
  queue->read(*found, products.data());
  queue->wait();
  EXPECT_EQ(products, (std::array<std::int32_t, 8>{5, 8, 11, 14, 7, 7, 7, 7}));
  product.rights = 3;
  EXPECT_FALSE(queue->multiply(product)) << "the library has no kernel for it";
}

}  // namespace
}  // namespace nearfield::gpu
