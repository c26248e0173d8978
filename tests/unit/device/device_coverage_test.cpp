// A whole run of the device tests runs every module of kernels.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <set>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "device/gpu/open.hpp"

namespace nearfield {
namespace {

std::string device() {
  const char* const name = std::getenv("NEARFIELD_TEST_DEVICE");
  return name == nullptr ? "" : name;
}

class EveryModuleWasRun final : public ::testing::Environment {
 public:
  void TearDown() override {
    const bool whole =
        GTEST_FLAG_GET(filter) == "*" && std::getenv("GTEST_TOTAL_SHARDS") == nullptr;
    if (device().empty() || !whole) return;
    const gpu::Opened opened = gpu::open_device(device());
    const auto queue = opened.device.make_queue(0);
    int used = 0;
    std::set<int> threads;
    for (const gpu::ModuleUse& module : opened.device.module_uses()) {
      EXPECT_TRUE(module.used) << "no kernel of " << module.name << " was run";
      used += module.used ? 1 : 0;
      threads.insert(queue->threads(module.name));
    }
    std::cout << fmt::format("{}: {} modules of kernels were run, in warps of {}, blocks of {}\n",
                             opened.id, used, opened.device.facts().warp, fmt::join(threads, ", "))
              << std::flush;
  }
};

// gtest owns it.
[[maybe_unused]] const ::testing::Environment* const kEveryModuleWasRun =
    ::testing::AddGlobalTestEnvironment(new EveryModuleWasRun);

TEST(Device, IsNamed) { ASSERT_NE(device(), "") << "set NEARFIELD_TEST_DEVICE, to opencl perhaps"; }

TEST(Device, IsOpenedOnceAndNamesItself) {
  const gpu::Opened opened = gpu::open_device(device());
  EXPECT_TRUE(opened.id.starts_with(device())) << opened.id;
  EXPECT_FALSE(opened.device.facts().name.empty());
  EXPECT_GT(opened.device.facts().memory, 0);
  EXPECT_EQ(&gpu::open_device(device()).device, &opened.device);
}

TEST(Device, TooMuchMemoryIsRefused) {
  const gpu::Opened opened = gpu::open_device(device());
  EXPECT_THROW(opened.device.allocate(std::int64_t{1} << 50), gpu::OutOfMemory);
  EXPECT_EQ(opened.device.allocate(0)->bytes(), 0);
}

TEST(Device, RowsAreCopiedWithStrides) {
  const gpu::Opened opened = gpu::open_device(device());
  const auto queue = opened.device.make_queue(0);
  const std::string rows = "abc.def.ghi.";
  const auto buffer = opened.device.allocate(15);
  queue->fill(*buffer, '-');
  queue->write(*buffer, rows.data(), {.count = 3, .bytes = 3, .from_stride = 4, .to_stride = 5});
  std::string back(15, ' ');
  queue->read(*buffer, back.data());
  std::string rows_again(12, '.');
  queue->read(*buffer, rows_again.data(),
              {.count = 3, .bytes = 3, .from_stride = 5, .to_stride = 4});
  queue->wait();
  EXPECT_EQ(back, "abc--def--ghi--");
  EXPECT_EQ(rows_again, rows);
}

}  // namespace
}  // namespace nearfield
