// A plugin of one device that has no float64, and runs nothing.
#include "device/gpu/gpu.hpp"

namespace nearfield::gpu {
namespace {

[[noreturn]] void refuse() { throw Error(ErrorCode::unsupported, "this device runs nothing"); }

class NoFloat64 final : public Device {
 public:
  const Facts& facts() const override {
    static const Facts all{.name = "No float64", .driver = "none", .memory = 1 << 30, .warp = 32};
    return all;
  }
  std::unique_ptr<Buffer> allocate(std::int64_t) override { refuse(); }
  std::unique_ptr<Memory> wrap(std::uintptr_t, std::int64_t) override { refuse(); }
  std::unique_ptr<Memory> map(const void*, std::int64_t) override { refuse(); }
  std::unique_ptr<Queue> make_queue(std::uintptr_t) override { refuse(); }
  std::vector<ModuleUse> module_uses() const override { return {}; }
};

class NoFloat64Plugin final : public Plugin {
 public:
  std::vector<Facts> list() const override { return {NoFloat64().facts()}; }
  std::unique_ptr<Device> open(int) const override { return std::make_unique<NoFloat64>(); }
};

const Plugin& plugin() {
  static const NoFloat64Plugin one;
  return one;
}

}  // namespace
}  // namespace nearfield::gpu

extern "C" const nearfield::gpu::PluginEntry nearfield_device_plugin;
extern "C" const nearfield::gpu::PluginEntry nearfield_device_plugin = {NEARFIELD_VERSION,
                                                                        &nearfield::gpu::plugin};
