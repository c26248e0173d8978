#include "cuda/fake_runtime.hpp"

#include <cuda.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "device/gpu/modules.hpp"

namespace fake {

Runtime& runtime() {
  static Runtime one;
  return one;
}

namespace {

CUcontext context_of(int card) {
  return reinterpret_cast<CUcontext>(static_cast<std::uintptr_t>(card) + 1);
}

CUresult get_context(CUcontext* context) {
  const int card = runtime().current;
  *context = card < 0 ? nullptr : context_of(card);
  return CUDA_SUCCESS;
}

CUresult set_context(CUcontext context) {
  runtime().current = static_cast<int>(reinterpret_cast<std::uintptr_t>(context)) - 1;
  return CUDA_SUCCESS;
}

// The allocation that a place is in, or null.
void* allocation_of(const void* memory) {
  for (const auto& [begin, size] : runtime().sizes) {
    const auto* const first = static_cast<const std::byte*>(begin);
    if (memory >= first && memory < first + size) return begin;
  }
  return nullptr;
}

// Memory of a card is touched while that card is current.
cudaError_t touch(const void* memory) {
  void* const begin = allocation_of(memory);
  if (begin == nullptr) return cudaErrorInvalidValue;
  return runtime().memories[begin] == runtime().current ? cudaSuccess : cudaErrorInvalidDevice;
}

struct Kernel {
  std::string name;
  int arguments;
};

}  // namespace

void* allocate(int card, std::size_t bytes) {
  void* const memory = std::calloc(bytes, 1);
  runtime().memories[memory] = card;
  runtime().sizes[memory] = bytes;
  return memory;
}

void free(void* memory) {
  runtime().memories.erase(memory);
  runtime().sizes.erase(memory);
  std::free(memory);
}

}  // namespace fake

namespace nearfield::gpu {

// The code of a module says how many arguments its kernels have, at least.
std::span<const Module> modules() {
  static const std::array<Module, 6> all = {{{"first", 32, 64, "3"},
                                             {"second", 32, 128, "3"},
                                             {"keys_sqeuclidean", 32, 64, "11"},
                                             {"keys_hamming", 32, 64, "11"},
                                             {"flaws", 32, 64, "5"},
                                             {"radix", 32, 64, "6"}}};
  return all;
}

}  // namespace nearfield::gpu

using fake::runtime;

const char* cudaGetErrorString(cudaError_t) { return "a sentence"; }
const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : "another error";
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = runtime().driver;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = static_cast<int>(runtime().cards.size());
  return runtime().counted;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* about, int device) {
  const fake::Card& card = runtime().cards.at(static_cast<std::size_t>(device));
  *about = {};
  std::strncpy(about->name, card.name.c_str(), sizeof(about->name) - 1);
  about->major = card.major;
  about->minor = card.minor;
  about->totalGlobalMem = card.memory;
  about->sharedMemPerBlock = 49152;
  about->multiProcessorCount = 84;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  runtime().current = device;
  return cudaSuccess;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** call, unsigned,
                                             unsigned long long, cudaDriverEntryPointQueryResult*) {
  const bool get = std::string(symbol) == "cuCtxGetCurrent";
  *call = get ? reinterpret_cast<void*>(&fake::get_context)
              : reinterpret_cast<void*>(&fake::set_context);
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  const int card = runtime().current;
  std::size_t used = bytes;
  for (const auto& [place, of] : runtime().memories)
    used += of == card ? runtime().sizes[place] : 0;
  if (used > runtime().cards.at(static_cast<std::size_t>(card)).memory) {
    return cudaErrorMemoryAllocation;
  }
  *memory = fake::allocate(card, bytes);
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* about, const void* memory) {
  *about = {};
  about->type = cudaMemoryTypeUnregistered;
  if (void* const begin = fake::allocation_of(memory)) {
    about->type = cudaMemoryTypeDevice;
    about->device = runtime().memories[begin];
  }
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  const cudaError_t status = fake::touch(memory);
  if (status != cudaSuccess) return status;
  fake::free(memory);
  return cudaSuccess;
}

cudaError_t cudaHostRegister(void* memory, std::size_t bytes, unsigned flags) {
  if ((flags & cudaHostRegisterMapped) == 0) return cudaErrorInvalidValue;
  if ((flags & cudaHostRegisterReadOnly) != 0 && !runtime().pins_read_only) {
    return cudaErrorNotSupported;
  }
  if (!runtime().pins) return cudaErrorHostMemoryAlreadyRegistered;
  runtime().pinned[memory] = bytes;
  return cudaSuccess;
}
cudaError_t cudaHostUnregister(void* memory) {
  return runtime().pinned.erase(memory) == 1 ? cudaSuccess : cudaErrorHostMemoryNotRegistered;
}
cudaError_t cudaHostGetDevicePointer(void** there, void* memory, unsigned) {
  *there = memory;
  return runtime().pinned.count(memory) == 1 ? cudaSuccess : cudaErrorInvalidValue;
}
cudaError_t cudaGetLastError() { return cudaSuccess; }

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  if (flags != cudaStreamNonBlocking) return cudaErrorInvalidValue;
  *stream = reinterpret_cast<cudaStream_t>(new int);
  runtime().streams.insert(*stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
  ++runtime().waits;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (runtime().streams.erase(stream) == 0) return cudaErrorInvalidResourceHandle;
  delete reinterpret_cast<int*>(stream);
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  if (flags != cudaEventDisableTiming) return cudaErrorInvalidValue;
  *event = reinterpret_cast<cudaEvent_t>(new int);
  runtime().events[*event] = nullptr;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  runtime().events.at(event) = stream;
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  runtime().waits_for.push_back({stream, runtime().events.at(event)});
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  runtime().events.erase(event);
  delete reinterpret_cast<int*>(event);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t) {
  runtime().copies.push_back(kind);
  std::memcpy(to, from, bytes);
  return fake::touch(kind == cudaMemcpyHostToDevice ? to : from);
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind kind, cudaStream_t) {
  runtime().copies.push_back(kind);
  for (std::size_t row = 0; row < height; ++row) {
    std::memcpy(static_cast<std::byte*>(to) + row * to_pitch,
                static_cast<const std::byte*>(from) + row * from_pitch, width);
  }
  return fake::touch(kind == cudaMemcpyHostToDevice ? to : from);
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t) {
  std::memset(to, value, bytes);
  return fake::touch(to);
}

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption*, void**,
                                unsigned, cudaLibraryOption*, void**, unsigned) {
  *library = static_cast<cudaLibrary_t>(const_cast<void*>(code));
  return cudaSuccess;
}
cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  static std::map<std::pair<cudaLibrary_t, std::string>, fake::Kernel> kernels;
  fake::Kernel& kept = kernels[{library, name}];
  kept = {name, std::atoi(reinterpret_cast<const char*>(library))};
  *kernel = reinterpret_cast<cudaKernel_t>(&kept);
  return kept.name == "missing" ? cudaErrorSymbolNotFound : cudaSuccess;
}
cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                             std::size_t, cudaStream_t stream) {
  const auto& [name, count] = *static_cast<const fake::Kernel*>(kernel);
  std::vector<void*> copied;
  for (int i = 0; i < count; ++i) copied.push_back(*static_cast<void**>(arguments[i]));
  runtime().launches.push_back({name, runtime().current, stream, grid, block, std::move(copied)});
  return cudaSuccess;
}
