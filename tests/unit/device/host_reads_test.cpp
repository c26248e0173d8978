// Which way of reading arrays of the host is taken, and how often that is measured.
#include "device/gpu/host_reads.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace nearfield::gpu {
namespace {

// Has nothing: what it is asked for is never used.
class NoDevice final : public Device {
 public:
  const Facts& facts() const override { return facts_; }
  std::unique_ptr<Buffer> allocate(std::int64_t) override { return nullptr; }
  std::unique_ptr<Memory> wrap(std::uintptr_t, std::int64_t) override { return nullptr; }
  std::unique_ptr<Memory> map(const void*, std::int64_t) override { return nullptr; }
  std::unique_ptr<Queue> make_queue(std::uintptr_t) override { return nullptr; }
  std::vector<ModuleUse> module_uses() const override { return {}; }

 private:
  Facts facts_;
};

class HostReadsTest : public testing::Test {
 protected:
  HostReadsTest() { force_host_reads({}); }
  ~HostReadsTest() override { force_host_reads({}); }

  HostReadsChoice choose(std::string_view kind, std::int64_t bytes = kLeastMeasured) {
    return choose_host_reads(device_, kind, bytes, [&](HostReads how) {
      ++samples_;
      if (how == slow_) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      return how == HostReads::copied || maps_;
    });
  }

  NoDevice device_;
  HostReads slow_ = HostReads::copied;
  bool maps_ = true;
  int samples_ = 0;
};

TEST_F(HostReadsTest, TheFasterIsTakenAndMeasuredOnceAKindOfWork) {
  const HostReadsChoice first = choose("keys");
  EXPECT_EQ(first.how, HostReads::mapped);
  EXPECT_NE(first.why.find("mapped: a sample took 2"), std::string::npos) << first.why;
  const int samples = samples_;
  EXPECT_EQ(choose("keys").why, first.why);
  EXPECT_EQ(choose("keys", 1).how, HostReads::mapped) << "known, so also for few";
  EXPECT_EQ(samples_, samples);
  slow_ = HostReads::mapped;
  EXPECT_EQ(choose("selection").how, HostReads::copied);
  EXPECT_EQ(samples_, 2 * samples);
}

TEST_F(HostReadsTest, FewBytesAreNotMeasuredWith) {
  const HostReadsChoice few = choose("keys", kLeastMeasured - 1);
  EXPECT_EQ(few.how, HostReads::copied);
  EXPECT_NE(few.why.find("4194303 bytes are too few"), std::string::npos) << few.why;
  EXPECT_TRUE(choose("keys", 0).why.empty()) << "nothing of the host's is read";
  EXPECT_EQ(samples_, 0);
}

TEST_F(HostReadsTest, WhatIsNotMappedIsCopied) {
  maps_ = false;
  EXPECT_EQ(choose("keys").how, HostReads::copied);
  EXPECT_EQ(samples_, 2);
}

TEST_F(HostReadsTest, WithoutMemoryItIsMeasuredLater) {
  const HostReadsChoice none = choose_host_reads(
      device_, "keys", kLeastMeasured, [](HostReads) -> bool { throw OutOfMemory("no memory"); });
  EXPECT_EQ(none.how, HostReads::copied);
  EXPECT_EQ(choose("keys").how, HostReads::mapped);
}

}  // namespace
}  // namespace nearfield::gpu
