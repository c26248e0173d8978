// Devices of CUDA. The runtime is linked into this plugin, which needs nothing but NVIDIA's driver.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "device/gpu/cuda/products.hpp"
#include "device/gpu/gpu.hpp"
#include "device/gpu/modules.hpp"

namespace nearfield::gpu {
namespace {

constexpr int kWarp = 32;
// Compute capability, major * 10 + minor: the oldest that the modules were compiled for.
constexpr int kOldest = NEARFIELD_CUDA_OLDEST;

// An error of CUDA is one of ours, with its name and what was asked. It may be that of earlier
// work, which ran in the meantime.
template <class What>
void check(cudaError_t status, const What& what) {
  if (status == cudaSuccess) return;
  const std::string message = fmt::format("CUDA refused {}: {} ({})", what(),
                                          ::cudaGetErrorString(status), ::cudaGetErrorName(status));
  if (status == cudaErrorMemoryAllocation) throw OutOfMemory(message);
  throw Error(ErrorCode::unsupported, message);
}

void check(cudaError_t status, const char* what) {
  check(status, [&] { return what; });
}

// Makes a device the thread's current one, and afterwards what was current before, which is the
// caller's. The driver is asked for it: the caller has another runtime, or none. cudaSetDevice()
// would also start a device that the caller never used.
class CurrentDevice {
 public:
  explicit CurrentDevice(int ordinal) {
    calls().get(&before_);
    check(::cudaSetDevice(ordinal), [&] { return fmt::format("card {}", ordinal); });
  }
  ~CurrentDevice() { calls().set(before_); }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  struct Calls {
    decltype(&::cuCtxGetCurrent) get;
    decltype(&::cuCtxSetCurrent) set;
  };

  static const Calls& calls() {
    static const Calls found{find<decltype(&::cuCtxGetCurrent)>("cuCtxGetCurrent"),
                             find<decltype(&::cuCtxSetCurrent)>("cuCtxSetCurrent")};
    return found;
  }

  template <class Call>
  static Call find(const char* name) {
    void* call = nullptr;
    check(::cudaGetDriverEntryPointByVersion(name, &call, 12000, cudaEnableDefault), name);
    return reinterpret_cast<Call>(call);
  }

  CUcontext before_ = nullptr;
};

class CudaBuffer final : public Buffer {
 public:
  CudaBuffer(int ordinal, std::int64_t bytes) : ordinal_(ordinal), bytes_(bytes) {
    const CurrentDevice current(ordinal_);
    // An empty buffer has a place too, as on other devices.
    check(::cudaMalloc(&memory_, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1))),
          [&] { return fmt::format("{} bytes on card {}", bytes, ordinal); });
  }
  ~CudaBuffer() override {
    try {
      const CurrentDevice current(ordinal_);
      ::cudaFree(memory_);  // when what uses it has run
    } catch (...) {
      // The card is gone, and the memory with it.
    }
  }
  CudaBuffer(const CudaBuffer&) = delete;
  CudaBuffer& operator=(const CudaBuffer&) = delete;

  std::int64_t bytes() const override { return bytes_; }
  void* memory() const { return memory_; }

 private:
  int ordinal_;
  std::int64_t bytes_;
  void* memory_ = nullptr;
};

void* memory_of(const Buffer& buffer) { return static_cast<const CudaBuffer&>(buffer).memory(); }

// Kernels by name, each module loaded when the first of its kernels is asked for, and never
// unloaded. Of all cards: the driver copies code to those that run it.
class Kernels {
 public:
  static Kernels& instance() {
    static Kernels kernels;
    return kernels;
  }

  cudaKernel_t find(const Kernel& kernel) {
    const std::lock_guard lock(mutex_);
    auto library = libraries_.find(std::string(kernel.module));
    if (library == libraries_.end()) {
      library = libraries_.emplace(kernel.module, load(kernel.module)).first;
    }
    cudaKernel_t found = nullptr;
    check(::cudaLibraryGetKernel(&found, library->second, std::string(kernel.entry).c_str()),
          [&] { return fmt::format("the kernel {} of {}", kernel.entry, kernel.module); });
    return found;
  }

  std::vector<ModuleUse> uses() const {
    const std::lock_guard lock(mutex_);
    std::vector<ModuleUse> all;
    for (const Module& module : modules()) {
      const std::string name(module.name);
      all.push_back({name, libraries_.find(name) != libraries_.end()});
    }
    return all;
  }

 private:
  static cudaLibrary_t load(std::string_view name) {
    cudaLibrary_t library = nullptr;
    check(::cudaLibraryLoadData(&library, find_module(name, kWarp).code.data(), nullptr, nullptr, 0,
                                nullptr, nullptr, 0),
          [&] { return fmt::format("the kernels of {}", name); });
    return library;
  }

  mutable std::mutex mutex_;
  std::map<std::string, cudaLibrary_t> libraries_;
};

class CudaQueue final : public Queue {
 public:
  // A stream of the caller's stays the caller's.
  CudaQueue(int ordinal, std::uintptr_t callers) : ordinal_(ordinal), owns_(callers == 0) {
    if (owns_) {
      const CurrentDevice current(ordinal_);
      check(::cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a queue");
    } else {
      stream_ = reinterpret_cast<cudaStream_t>(callers);  // NOLINT(performance-no-int-to-ptr)
    }
  }
  // What is queued reads and writes memory of the caller's.
  ~CudaQueue() override {
    try {
      const CurrentDevice current(ordinal_);
      ::cudaStreamSynchronize(stream_);
      if (owns_) ::cudaStreamDestroy(stream_);
    } catch (...) {
      // The card is gone, and nothing runs on it.
    }
  }
  CudaQueue(const CudaQueue&) = delete;
  CudaQueue& operator=(const CudaQueue&) = delete;

  void write(Buffer& to, const void* from, const CopiedRows& rows) override {
    if (rows.count == 0 || rows.bytes == 0) return;
    const CurrentDevice current(ordinal_);
    check(write_rows(to, from, rows), [&] {
      return fmt::format("to copy {} rows of {} bytes to the device", rows.count, rows.bytes);
    });
  }

  void read(const Buffer& from, void* to, const CopiedRows& rows) override {
    if (rows.count == 0 || rows.bytes == 0) return;
    const CurrentDevice current(ordinal_);
    check(read_rows(from, to, rows), [&] {
      return fmt::format("to copy {} rows of {} bytes from the device", rows.count, rows.bytes);
    });
  }

  void fill(Buffer& to, std::uint8_t byte) override {
    if (to.bytes() == 0) return;
    const CurrentDevice current(ordinal_);
    check(::cudaMemsetAsync(memory_of(to), byte, static_cast<std::size_t>(to.bytes()), stream_),
          [&] { return fmt::format("to fill {} bytes", to.bytes()); });
  }

  int threads(std::string_view module) const override { return find_module(module, kWarp).threads; }

  void run(const Kernel& kernel, const Grid& grid, std::span<const Argument> arguments) override {
    const CurrentDevice current(ordinal_);
    check(launch(kernel, grid, arguments), [&] {
      return fmt::format("to run {} of {} on {} x {} blocks of {}", kernel.entry, kernel.module,
                         grid.x, grid.y, threads(kernel.module));
    });
  }

  bool multiply(const Product& product) override {
    const CurrentDevice current(ordinal_);
    return multiply_by_library(
        ordinal_, product,
        {memory_of(product.left), memory_of(product.right), memory_of(product.found)}, stream_);
  }

  void wait() override {
    const CurrentDevice current(ordinal_);
    check(::cudaStreamSynchronize(stream_), "what was queued");
  }

 private:
  cudaError_t write_rows(Buffer& to, const void* from, const CopiedRows& rows) {
    const auto bytes = static_cast<std::size_t>(rows.bytes);
    const auto count = static_cast<std::size_t>(rows.count);
    if (rows.are_close()) {
      return ::cudaMemcpyAsync(memory_of(to), from, bytes * count, cudaMemcpyHostToDevice, stream_);
    }
    return ::cudaMemcpy2DAsync(memory_of(to), static_cast<std::size_t>(rows.device_stride), from,
                               static_cast<std::size_t>(rows.host_stride), bytes, count,
                               cudaMemcpyHostToDevice, stream_);
  }

  cudaError_t read_rows(const Buffer& from, void* to, const CopiedRows& rows) {
    const auto bytes = static_cast<std::size_t>(rows.bytes);
    const auto count = static_cast<std::size_t>(rows.count);
    if (rows.are_close()) {
      return ::cudaMemcpyAsync(to, memory_of(from), bytes * count, cudaMemcpyDeviceToHost, stream_);
    }
    return ::cudaMemcpy2DAsync(to, static_cast<std::size_t>(rows.host_stride), memory_of(from),
                               static_cast<std::size_t>(rows.device_stride), bytes, count,
                               cudaMemcpyDeviceToHost, stream_);
  }

  // Arguments are copied before it returns.
  cudaError_t launch(const Kernel& kernel, const Grid& grid, std::span<const Argument> arguments) {
    std::vector<void*> memories;
    std::vector<void*> places;
    memories.reserve(arguments.size());
    places.reserve(arguments.size());
    for (const Argument& argument : arguments) {
      if (argument.buffer() != nullptr) {
        memories.push_back(memory_of(*argument.buffer()));
        places.push_back(&memories.back());
      } else {
        places.push_back(const_cast<std::byte*>(argument.value().data()));
      }
    }
    return ::cudaLaunchKernel(Kernels::instance().find(kernel),
                              dim3(static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y), 1),
                              dim3(static_cast<unsigned>(threads(kernel.module)), 1, 1),
                              places.data(), 0, stream_);
  }

  int ordinal_;
  bool owns_;
  cudaStream_t stream_ = nullptr;
};

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

Facts facts_of(const cudaDeviceProp& card, int driver) {
  return {.name = card.name,
          .driver = fmt::format("driver for CUDA {}, compute capability {}.{}",
                                version_text(driver), card.major, card.minor),
          .memory = static_cast<std::int64_t>(card.totalGlobalMem),
          .largest_buffer = static_cast<std::int64_t>(card.totalGlobalMem),
          .block_memory = static_cast<std::int64_t>(card.sharedMemPerBlock),
          .units = card.multiProcessorCount,
          .warp = kWarp,
          .has_float64 = true};
}

class CudaDevice final : public Device {
 public:
  CudaDevice(int ordinal, Facts facts) : ordinal_(ordinal), facts_(std::move(facts)) {}

  const Facts& facts() const override { return facts_; }

  std::unique_ptr<Buffer> allocate(std::int64_t bytes) override {
    return std::make_unique<CudaBuffer>(ordinal_, bytes);
  }

  std::unique_ptr<Queue> make_queue(std::uintptr_t stream) override {
    return std::make_unique<CudaQueue>(ordinal_, stream);
  }

  std::vector<ModuleUse> module_uses() const override { return Kernels::instance().uses(); }

 private:
  int ordinal_;
  Facts facts_;
};

struct Card {
  int ordinal;
  Facts facts;
};

class CudaPlugin final : public Plugin {
 public:
  std::vector<Facts> list() const override {
    std::vector<Facts> all;
    for (const Card& card : usable()) all.push_back(card.facts);
    return all;
  }

  std::unique_ptr<Device> open(int index) const override {
    const Card card = usable().at(static_cast<std::size_t>(index));
    return std::make_unique<CudaDevice>(card.ordinal, card.facts);
  }

 private:
  // The newest CUDA that the driver runs.
  static int driver_version() {
    int version = 0;
    check(::cudaDriverGetVersion(&version), "the version of its driver");
    if (version == 0) {
      throw Error(ErrorCode::unsupported,
                  "the CUDA driver libcuda.so.1 was not found: install the NVIDIA driver");
    }
    return version;
  }

  static int count_cards(int driver) {
    int count = 0;
    const cudaError_t status = ::cudaGetDeviceCount(&count);
    if (status == cudaErrorInsufficientDriver) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("the NVIDIA driver runs CUDA up to {}, and this is built for {}: "
                              "install a newer driver",
                              version_text(driver), version_text(CUDART_VERSION)));
    }
    if (status == cudaErrorNoDevice) return 0;
    check(status, "the number of cards");
    return count;
  }

  static std::vector<Card> usable() {
    const int driver = driver_version();
    const int count = count_cards(driver);
    std::vector<Card> found;
    std::string unusable;
    for (int ordinal = 0; ordinal < count; ++ordinal) {
      cudaDeviceProp card{};
      check(::cudaGetDeviceProperties(&card, ordinal),
            [&] { return fmt::format("what card {} is", ordinal); });
      if (card.major * 10 + card.minor >= kOldest) {
        found.push_back({ordinal, facts_of(card, driver)});
      } else {
        unusable += fmt::format("; {} has {}.{}", card.name, card.major, card.minor);
      }
    }
    if (found.empty()) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("no card of compute capability {}.{} or newer was found among the {} "
                              "that the NVIDIA driver shows: install one{}",
                              kOldest / 10, kOldest % 10, count, unusable));
    }
    return found;
  }
};

const Plugin& plugin() {
  static const CudaPlugin cuda;
  return cuda;
}

}  // namespace
}  // namespace nearfield::gpu

extern "C" const nearfield::gpu::PluginEntry nearfield_device_plugin;
extern "C" const nearfield::gpu::PluginEntry nearfield_device_plugin = {NEARFIELD_VERSION,
                                                                        &nearfield::gpu::plugin};
