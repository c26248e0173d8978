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

// Memory of a card is touched while that card is current.
cudaError_t touch(const void* memory) {
  for (const auto& [begin, card] : runtime().memories) {
    const auto* const first = static_cast<const std::byte*>(begin);
    if (memory < first || memory >= first + runtime().sizes[begin]) continue;
    return card == runtime().current ? cudaSuccess : cudaErrorInvalidDevice;
  }
  return cudaErrorInvalidValue;
}

}  // namespace
}  // namespace fake

namespace nearfield::gpu {

std::span<const Module> modules() {
  static const std::array<Module, 2> all = {{{"first", 32, 64, "a"}, {"second", 32, 128, "b"}}};
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
  *memory = std::malloc(bytes);
  runtime().memories[*memory] = card;
  runtime().sizes[*memory] = bytes;
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  const cudaError_t status = fake::touch(memory);
  if (status != cudaSuccess) return status;
  runtime().memories.erase(memory);
  runtime().sizes.erase(memory);
  std::free(memory);
  return cudaSuccess;
}

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

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t) {
  std::memcpy(to, from, bytes);
  return fake::touch(kind == cudaMemcpyHostToDevice ? to : from);
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind kind, cudaStream_t) {
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
cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t, const char* name) {
  static std::set<std::string> names;
  const std::string& kept = *names.insert(name).first;
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<std::string*>(&kept));
  return kept == "missing" ? cudaErrorSymbolNotFound : cudaSuccess;
}
cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                             std::size_t, cudaStream_t stream) {
  std::vector<void*> copied;
  for (int i = 0; i < 3; ++i) copied.push_back(*static_cast<void**>(arguments[i]));
  runtime().launches.push_back({*static_cast<const std::string*>(kernel), runtime().current, stream,
                                grid, block, std::move(copied)});
  return cudaSuccess;
}
