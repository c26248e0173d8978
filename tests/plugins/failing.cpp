// A plugin that has the devices of another, NEARFIELD_TEST_WRAPPED, of which the second stops
// working: after NEARFIELD_TEST_RUNS kernels it refuses everything. And whatever they say they
// have, they give no more than NEARFIELD_TEST_MEMORY bytes to a buffer.
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <limits>
#include <string>

#include "device/gpu/gpu.hpp"

namespace nearfield::gpu {
namespace {

constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();

std::int64_t number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? kNoEnd : std::atoll(text);
}

// Kernels that a device may still run.
class Life {
 public:
  explicit Life(std::int64_t runs) : left_(runs) {}
  void use(std::int64_t runs) {
    if ((left_ -= runs) < 0) throw Error(ErrorCode::unsupported, "the device has stopped working");
  }

 private:
  std::atomic<std::int64_t> left_;
};

class FailingQueue final : public Queue {
 public:
  FailingQueue(std::unique_ptr<Queue> queue, Life& life) : queue_(std::move(queue)), life_(life) {}

  void write(Buffer& to, const void* from, const CopiedRows& rows) override {
    life_.use(0);
    queue_->write(to, from, rows);
  }
  void read(const Buffer& from, void* to, const CopiedRows& rows) override {
    life_.use(0);
    queue_->read(from, to, rows);
  }
  void copy(Buffer& to, const Buffer& from, const CopiedRows& rows) override {
    life_.use(0);
    queue_->copy(to, from, rows);
  }
  void fill(Buffer& to, std::uint8_t byte) override {
    life_.use(0);
    queue_->fill(to, byte);
  }
  int threads(std::string_view module) const override { return queue_->threads(module); }
  void run(const Kernel& kernel, const Grid& grid, std::span<const Argument> arguments) override {
    life_.use(1);
    queue_->run(kernel, grid, arguments);
  }
  void wait() override {
    queue_->wait();
    life_.use(0);
  }
  void wait_for(std::uintptr_t stream) override { queue_->wait_for(stream); }

 private:
  std::unique_ptr<Queue> queue_;
  Life& life_;
};

class FailingDevice final : public Device {
 public:
  FailingDevice(std::unique_ptr<Device> device, std::int64_t runs)
      : device_(std::move(device)), life_(runs) {}

  const Facts& facts() const override { return device_->facts(); }
  std::unique_ptr<Buffer> allocate(std::int64_t bytes) override {
    if (bytes > number_in("NEARFIELD_TEST_MEMORY")) {
      throw OutOfMemory("the device has no " + std::to_string(bytes) + " bytes");
    }
    return device_->allocate(bytes);
  }
  std::unique_ptr<Memory> wrap(std::uintptr_t address, std::int64_t bytes) override {
    return device_->wrap(address, bytes);
  }
  std::unique_ptr<Memory> map(const void* from, std::int64_t bytes) override {
    return device_->map(from, bytes);
  }
  std::unique_ptr<Queue> make_queue(std::uintptr_t stream) override {
    life_.use(0);
    return std::make_unique<FailingQueue>(device_->make_queue(stream), life_);
  }
  std::vector<ModuleUse> module_uses() const override { return device_->module_uses(); }

 private:
  std::unique_ptr<Device> device_;
  Life life_;
};

const Plugin& wrapped() {
  static void* const library =
      ::dlopen(std::getenv("NEARFIELD_TEST_WRAPPED"), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw Error(ErrorCode::unsupported, "NEARFIELD_TEST_WRAPPED names no plugin");
  }
  return static_cast<const PluginEntry*>(::dlsym(library, kPluginSymbol))->plugin();
}

class FailingPlugin final : public Plugin {
 public:
  std::vector<Facts> list() const override { return wrapped().list(); }
  std::unique_ptr<Device> open(int index) const override {
    return std::make_unique<FailingDevice>(wrapped().open(index),
                                           index == 1 ? number_in("NEARFIELD_TEST_RUNS") : kNoEnd);
  }
};

const Plugin& plugin() {
  static const FailingPlugin one;
  return one;
}

}  // namespace
}  // namespace nearfield::gpu

extern "C" const nearfield::gpu::PluginEntry nearfield_device_plugin;
extern "C" const nearfield::gpu::PluginEntry nearfield_device_plugin = {NEARFIELD_VERSION,
                                                                        &nearfield::gpu::plugin};
