// The host code of the CUDA plugin, on a runtime that is made up: no kernel runs here.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include <nearfield/nearfield.hpp>

#include "cuda/fake_runtime.hpp"
#include "device/gpu/gpu.hpp"
#include "device/gpu/host_reads.hpp"
#include "unit/expect_error.hpp"

extern "C" const nearfield::gpu::PluginEntry nearfield_device_plugin;

namespace nearfield::gpu {
namespace {

using test::expect_error;

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
  queue->read(*buffer, rows_again.data(), {2, 3, 5, 4});
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

TEST_F(CudaPluginTest, HasNoCompilerForFunctionsOfCallers) {
  expect_error([&] { plugin().open(0)->link("callers_distances", "double f(void) { return 0; }"); },
               ErrorCode::unsupported, {"First has no compiler", "leave that out"});
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

TEST_F(CudaPluginTest, ReadsTheCallersMemoryInPlace) {
  void* const callers = fake::allocate(2, 64);
  const auto device = plugin().open(1);
  {
    const auto memory = device->wrap(reinterpret_cast<std::uintptr_t>(callers), 64);
    const auto queue = device->make_queue(0);
    const auto part = memory->part(16, 48);
    EXPECT_EQ(part->bytes(), 48);
    queue->run({"first", "keys"}, {}, {*part, *part, *part});
    EXPECT_EQ(fake::runtime().launches.back().arguments.front(),
              static_cast<std::byte*>(callers) + 16);
  }
  EXPECT_EQ(fake::runtime().memories.count(callers), 1) << "it stays the caller's";
  EXPECT_TRUE(fake::runtime().copies.empty());
  fake::free(callers);
}

TEST_F(CudaPluginTest, RefusesMemoryOfOthers) {
  void* const callers = fake::allocate(1, 64);
  const auto device = plugin().open(1);
  expect_error([&] { device->wrap(reinterpret_cast<std::uintptr_t>(callers), 64); },
               ErrorCode::invalid_argument, {"card 1", "card 2", "name the device"});
  const int of_the_host = 0;
  expect_error([&] { device->wrap(reinterpret_cast<std::uintptr_t>(&of_the_host), 4); },
               ErrorCode::invalid_argument, {"in no card's memory", "one of the host"});
  fake::free(callers);
}

TEST_F(CudaPluginTest, WaitsForAStreamOfTheCallers) {
  const auto device = plugin().open(0);
  const auto queue = device->make_queue(0);
  queue->wait_for(77);
  ASSERT_EQ(fake::runtime().waits_for.size(), 1);
  EXPECT_EQ(fake::runtime().waits_for[0].behind, *fake::runtime().streams.begin());
  EXPECT_EQ(fake::runtime().waits_for[0].ahead, reinterpret_cast<cudaStream_t>(77));
  EXPECT_TRUE(fake::runtime().events.empty());
  const auto same = device->make_queue(77);
  same->wait_for(77);
  EXPECT_EQ(fake::runtime().waits_for.size(), 1) << "it is in that stream already";
}

// Whole calls of the library, which loads the plugin: what reaches the card. No kernel runs, so
// that the results mean nothing.
class CudaCallTest : public CudaPluginTest {
 protected:
  CudaCallTest() {
    ::setenv("NEARFIELD_PLUGINS", NEARFIELD_FAKE_PLUGIN, 1);
    context_.device = "cuda:0";
    memory_ = fake::allocate(kCard, 4096);
  }
  ~CudaCallTest() override { fake::free(memory_); }

  DeviceArray array(DType dtype, std::int64_t rows, std::int64_t cols, std::int64_t stride = 0) {
    return {reinterpret_cast<std::uintptr_t>(memory_), dtype, rows, cols, stride};
  }

  static const fake::Launch& launch(std::string_view kernel) {
    const auto& all = fake::runtime().launches;
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.kernel == kernel; });
    if (found == all.end()) throw std::out_of_range(std::string(kernel));
    return *found;
  }

  static std::ptrdiff_t copies(cudaMemcpyKind kind) {
    const auto& all = fake::runtime().copies;
    return std::count(all.begin(), all.end(), kind);
  }

  static constexpr int kCard = 1;  // the first that is new enough
  Context context_;
  void* memory_;
};

TEST_F(CudaCallTest, PairwiseReadsBothArraysInPlace) {
  DeviceArray queries = array(DType::f32, 3, 4);
  queries.stream = 5;
  const DeviceArray rows = array(DType::f16, 9, 4, 24);
  EXPECT_EQ(pairwise(queries, rows, {}, context_).values.size(), 27);
  const fake::Launch& keys = launch("few_keys");
  EXPECT_EQ(keys.card, kCard);
  EXPECT_EQ(keys.arguments[0], memory_);
  EXPECT_EQ(keys.arguments[5], memory_);
  EXPECT_EQ(keys.arguments[7], reinterpret_cast<void*>(24)) << "the caller's stride";
  EXPECT_EQ(launch("flaws").arguments[0], memory_) << "NaN is looked for there";
  EXPECT_EQ(copies(cudaMemcpyHostToDevice), 0);
  EXPECT_EQ(copies(cudaMemcpyDeviceToDevice), 0);
  ASSERT_FALSE(fake::runtime().waits_for.empty());
  for (const fake::Wait& wait : fake::runtime().waits_for) {
    EXPECT_EQ(wait.ahead, reinterpret_cast<cudaStream_t>(5));
  }
}

TEST_F(CudaCallTest, OneSideMayBeOfTheHost) {
  const Matrix queries(DType::f32, 3, 4);
  pairwise(queries, array(DType::f32, 9, 4), {}, context_);
  EXPECT_NE(launch("few_keys").arguments[0], memory_);
  EXPECT_EQ(launch("few_keys").arguments[5], memory_);
  EXPECT_EQ(copies(cudaMemcpyHostToDevice), 1);
}

TEST_F(CudaCallTest, ArraysOfTheHostMayBeMapped) {
  force_host_reads(HostReads::mapped);
  Matrix queries(DType::f32, 3, 4);
  pairwise(queries, array(DType::f32, 9, 4), {}, context_);
  EXPECT_EQ(launch("few_keys").arguments[0], queries.row(0));
  EXPECT_EQ(copies(cudaMemcpyHostToDevice), 0);
  EXPECT_TRUE(fake::runtime().pinned.empty()) << "for as long as the call takes";
  fake::runtime().pins = false;
  pairwise(queries, array(DType::f32, 9, 4), {}, context_);
  EXPECT_EQ(copies(cudaMemcpyHostToDevice), 1) << "copied where it cannot be pinned";
  force_host_reads({});
}

TEST_F(CudaCallTest, ACardMayNotKnowMemoryThatIsOnlyRead) {
  force_host_reads(HostReads::mapped);
  fake::runtime().pins_read_only = false;
  Matrix queries(DType::f32, 3, 4);
  pairwise(queries, array(DType::f32, 9, 4), {}, context_);
  EXPECT_EQ(launch("few_keys").arguments[0], queries.row(0));
  EXPECT_EQ(copies(cudaMemcpyHostToDevice), 0);
  force_host_reads({});
}

TEST_F(CudaCallTest, RowsWithoutColumnsHaveNoMemory) {
  EXPECT_EQ(pairwise(array(DType::f32, 3, 0), array(DType::f32, 9, 0), {}, context_).values.size(),
            27);
  EXPECT_EQ(copies(cudaMemcpyDeviceToDevice), 0);
}

TEST_F(CudaCallTest, BitsAreReadInPlaceWhereTheyAreWholeWords) {
  const PairwiseOptions options{.metric = Metric::hamming};
  pairwise(array(DType::bits, 3, 128), array(DType::bits, 3, 128), options, context_);
  EXPECT_EQ(launch("few_keys").arguments[0], memory_);
  EXPECT_EQ(copies(cudaMemcpyDeviceToDevice), 0);
  pairwise(array(DType::bits, 3, 100), array(DType::bits, 3, 100), options, context_);
  EXPECT_EQ(copies(cudaMemcpyDeviceToDevice), 2);
  EXPECT_EQ(copies(cudaMemcpyHostToDevice), 0);
}

TEST_F(CudaCallTest, SelectReadsInPlaceWhereRowsAreClose) {
  context_.stream = 9;
  select_k(array(DType::f64, 2, 50), {.k = 3}, context_);
  const fake::Launch& first = launch("radix_threshold");
  EXPECT_EQ(first.arguments[0], memory_);
  EXPECT_EQ(first.stream, reinterpret_cast<cudaStream_t>(9));
  EXPECT_EQ(launch("whole_keys").arguments[0], memory_);
  EXPECT_EQ(copies(cudaMemcpyDeviceToDevice), 0);
  select_k(array(DType::f64, 2, 50, 408), {.k = 3}, context_);
  EXPECT_EQ(copies(cudaMemcpyDeviceToDevice), 1);
  EXPECT_EQ(copies(cudaMemcpyHostToDevice), 2) << "where rows begin, alone";
}

TEST_F(CudaCallTest, ArraysOfOthersAreRefused) {
  void* const elsewhere = fake::allocate(2, 64);
  DeviceArray rows = array(DType::f32, 1, 4);
  rows.data = reinterpret_cast<std::uintptr_t>(elsewhere);
  expect_error([&] { pairwise(rows, rows, {}, context_); }, ErrorCode::invalid_argument,
               {"card 2", "card 1"});
  expect_error([&] { select_k(rows, {}, context_); }, ErrorCode::invalid_argument,
               {"card 2", "card 1"});
  fake::free(elsewhere);
}

}  // namespace
}  // namespace nearfield::gpu
