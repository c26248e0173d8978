// A device that runs nothing and has less memory than it says, for what is to be shared of it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "device/gpu/gpu.hpp"

namespace nearfield::test {

inline constexpr int kIdleThreads = 256;  // of a block

// Takes what it is given, and does nothing.
class IdleQueue final : public gpu::Queue {
 public:
  void write(gpu::Buffer&, const void*, const gpu::CopiedRows&) override {}
  void read(const gpu::Buffer&, void*, const gpu::CopiedRows&) override {}
  void copy(gpu::Buffer&, const gpu::Buffer&, const gpu::CopiedRows&) override {}
  void fill(gpu::Buffer&, std::uint8_t) override {}
  int threads(std::string_view) const override { return kIdleThreads; }
  void run(const gpu::Kernel&, const gpu::Grid&, std::span<const gpu::Argument>) override {}
  void wait() override {}
  void wait_for(std::uintptr_t) override {}
};

class ShortDevice final : public gpu::Device {
 public:
  explicit ShortDevice(std::int64_t memory) : left(memory) {
    facts_.memory = facts_.largest_buffer = std::int64_t{1} << 30;
    facts_.has_float64 = true;
  }
  const gpu::Facts& facts() const override { return facts_; }
  std::unique_ptr<gpu::Buffer> allocate(std::int64_t bytes) override {
    if (bytes > left) {
      refused = true;
      throw gpu::OutOfMemory("there is no more");
    }
    return std::make_unique<Taken>(*this, bytes);
  }
  std::unique_ptr<gpu::Memory> wrap(std::uintptr_t, std::int64_t) override { return nullptr; }
  std::unique_ptr<gpu::Memory> map(const void*, std::int64_t) override { return nullptr; }
  std::unique_ptr<gpu::Queue> make_queue(std::uintptr_t) override {
    return std::make_unique<IdleQueue>();
  }
  std::vector<gpu::ModuleUse> module_uses() const override { return {}; }

  std::int64_t left;
  bool refused = false;

 private:
  class Taken final : public gpu::Buffer {
   public:
    Taken(ShortDevice& device, std::int64_t bytes) : device_(device), bytes_(bytes) {
      device_.left -= bytes_;
    }
    ~Taken() override { device_.left += bytes_; }
    std::int64_t bytes() const override { return bytes_; }

   private:
    ShortDevice& device_;
    std::int64_t bytes_;
  };

  gpu::Facts facts_;
};

}  // namespace nearfield::test
