// Devices of CUDA. The runtime is linked into this plugin, which needs nothing but NVIDIA's driver.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <unistd.h>

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

class CudaBuffer : public Buffer {
 public:
  CudaBuffer(void* memory, std::int64_t bytes) : memory_(memory), bytes_(bytes) {}

  std::int64_t bytes() const override { return bytes_; }
  void* memory() const { return memory_; }

 private:
  void* memory_;
  std::int64_t bytes_;
};

class AllocatedBuffer final : public CudaBuffer {
 public:
  AllocatedBuffer(int ordinal, std::int64_t bytes)
      : CudaBuffer(allocate(ordinal, bytes), bytes), ordinal_(ordinal) {}
  ~AllocatedBuffer() override {
    try {
      const CurrentDevice current(ordinal_);
      ::cudaFree(memory());  // when what uses it has run
    } catch (...) {
      // The card is gone, and the memory with it.
    }
  }
  AllocatedBuffer(const AllocatedBuffer&) = delete;
  AllocatedBuffer& operator=(const AllocatedBuffer&) = delete;

 private:
  static void* allocate(int ordinal, std::int64_t bytes) {
    const CurrentDevice current(ordinal);
    void* memory = nullptr;
    // An empty buffer has a place too, as on other devices.
    check(::cudaMalloc(&memory, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1))),
          [&] { return fmt::format("{} bytes on card {}", bytes, ordinal); });
    return memory;
  }

  int ordinal_;
};

// Memory that a card reads and somebody else owns.
class CallersMemory : public Memory {
 public:
  explicit CallersMemory(void* begin) : begin_(static_cast<std::byte*>(begin)) {}

  std::unique_ptr<Buffer> part(std::int64_t first, std::int64_t bytes) const override {
    return std::make_unique<CudaBuffer>(begin_ + first, bytes);
  }

 private:
  std::byte* begin_;
};

// Of the host, pinned for as long as this is here.
class PinnedMemory final : public CallersMemory {
 public:
  PinnedMemory(int ordinal, const void* from, void* begin)
      : CallersMemory(begin), ordinal_(ordinal), from_(from) {}
  ~PinnedMemory() override {
    try {
      const CurrentDevice current(ordinal_);
      ::cudaHostUnregister(const_cast<void*>(from_));
    } catch (...) {
      // The card is gone, and nothing is pinned for it.
    }
  }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

 private:
  int ordinal_;
  const void* from_;
};

// Throws unless a kernel on the card can read there. Managed memory goes to the card that reads it.
void check_address(int ordinal, void* address) {
  cudaPointerAttributes about{};
  check(::cudaPointerGetAttributes(&about, address),
        [&] { return fmt::format("to say whose memory {} is", fmt::ptr(address)); });
  if (about.type == cudaMemoryTypeManaged) return;
  if (about.type != cudaMemoryTypeDevice) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the array at {} is in no card's memory: pass it as one of the host",
                            fmt::ptr(address)));
  }
  if (about.device != ordinal) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the array at {} is in the memory of CUDA's card {}, and the call is "
                            "to run on its card {}: name the device that has the array, or copy it",
                            fmt::ptr(address), about.device, ordinal));
  }
}

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

cudaStream_t stream_of(std::uintptr_t number) {
  return reinterpret_cast<cudaStream_t>(number);  // NOLINT(performance-no-int-to-ptr)
}

class CudaQueue final : public Queue {
 public:
  // A stream of the caller's stays the caller's.
  CudaQueue(int ordinal, std::uintptr_t callers) : ordinal_(ordinal), owns_(callers == 0) {
    if (owns_) {
      const CurrentDevice current(ordinal_);
      check(::cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a queue");
    } else {
      stream_ = stream_of(callers);
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
    check(copy_rows(memory_of(to), from, rows, cudaMemcpyHostToDevice), [&] {
      return fmt::format("to copy {} rows of {} bytes to the device", rows.count, rows.bytes);
    });
  }

  void read(const Buffer& from, void* to, const CopiedRows& rows) override {
    if (rows.count == 0 || rows.bytes == 0) return;
    const CurrentDevice current(ordinal_);
    check(copy_rows(to, memory_of(from), rows, cudaMemcpyDeviceToHost), [&] {
      return fmt::format("to copy {} rows of {} bytes from the device", rows.count, rows.bytes);
    });
  }

  void copy(Buffer& to, const Buffer& from, const CopiedRows& rows) override {
    if (rows.count == 0 || rows.bytes == 0) return;
    const CurrentDevice current(ordinal_);
    check(copy_rows(memory_of(to), memory_of(from), rows, cudaMemcpyDeviceToDevice), [&] {
      return fmt::format("to copy {} rows of {} bytes on the device", rows.count, rows.bytes);
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

  void wait_for(std::uintptr_t stream) override {
    const cudaStream_t callers = stream_of(stream);
    if (callers == stream_) return;
    const CurrentDevice current(ordinal_);
    cudaEvent_t done = nullptr;
    check(::cudaEventCreateWithFlags(&done, cudaEventDisableTiming), "an event");
    cudaError_t status = ::cudaEventRecord(done, callers);
    if (status == cudaSuccess) status = ::cudaStreamWaitEvent(stream_, done, 0);
    ::cudaEventDestroy(done);  // when it has come
    check(status, [&] { return fmt::format("to wait for the stream {:#x}", stream); });
  }

 private:
  cudaError_t copy_rows(void* to, const void* from, const CopiedRows& rows, cudaMemcpyKind kind) {
    const auto bytes = static_cast<std::size_t>(rows.bytes);
    const auto count = static_cast<std::size_t>(rows.count);
    if (rows.are_close()) return ::cudaMemcpyAsync(to, from, bytes * count, kind, stream_);
    return ::cudaMemcpy2DAsync(to, static_cast<std::size_t>(rows.to_stride), from,
                               static_cast<std::size_t>(rows.from_stride), bytes, count, kind,
                               stream_);
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
    return std::make_unique<AllocatedBuffer>(ordinal_, bytes);
  }

  // CUDA does not say how far the memory goes: `bytes` are the caller's word.
  std::unique_ptr<Memory> wrap(std::uintptr_t address, std::int64_t /*bytes*/) override {
    const CurrentDevice current(ordinal_);
    void* const begin = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
    check_address(ordinal_, begin);
    return std::make_unique<CallersMemory>(begin);
  }

  // Refused, for one, where pages are pinned already.
  std::unique_ptr<Memory> map(const void* from, std::int64_t bytes) override {
    if (bytes > most_pinned()) return nullptr;
    const CurrentDevice current(ordinal_);
    void* const host = const_cast<void*>(from);
    void* begin = nullptr;
    if (!pin(host, static_cast<std::size_t>(bytes))) return nullptr;
    if (::cudaHostGetDevicePointer(&begin, host, 0) == cudaSuccess) {
      return std::make_unique<PinnedMemory>(ordinal_, from, begin);
    }
    ::cudaGetLastError();
    ::cudaHostUnregister(host);
    return nullptr;
  }

  std::unique_ptr<Queue> make_queue(std::uintptr_t stream) override {
    return std::make_unique<CudaQueue>(ordinal_, stream);
  }

  std::vector<ModuleUse> module_uses() const override { return Kernels::instance().uses(); }

 private:
  // Pinned pages stay in memory: of all of it, a file that is mapped could take more than there is.
  static std::int64_t most_pinned() {
    return ::sysconf(_SC_PHYS_PAGES) / 4 * ::sysconf(_SC_PAGESIZE);
  }

  // Older cards do not know memory that is not written to; that of a file, opened to be read, is
  // nothing else.
  static bool pin(void* host, std::size_t bytes) {
    for (const unsigned access : {unsigned{cudaHostRegisterReadOnly}, 0U}) {
      if (::cudaHostRegister(host, bytes, cudaHostRegisterMapped | access) == cudaSuccess) {
        return true;
      }
      ::cudaGetLastError();  // it is not an error of the next call
    }
    return false;
  }

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
