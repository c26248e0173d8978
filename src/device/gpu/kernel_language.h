// What kernels are written in: C++ that nvcc compiles for NVIDIA, and clang, as C++ for OpenCL
// 2021, to SPIR-V. Every difference between the two is in this file.
//
// A warp has kWarp threads, which run together. CUDA's has 32; the SPIR-V modules are built for 8,
// 16 and 32, and the device takes the widest that it has. A block has kThreads, a power of two: the
// table in cmake/kernels.cmake says it of each module, to its kernels and, by way of the plugin, to
// the host. A kernel is written for any of them, or says why not.
//
// Contraction is off in both (cmake/kernels.cmake): keys are the same bits as on a CPU.
#pragma once

#if defined(__CUDACC__)

#include <cuda_fp16.h>

#define NEARFIELD_INLINE __device__ __forceinline__
#define NEARFIELD_KERNEL extern "C" __global__ void __launch_bounds__(NEARFIELD_THREADS)
#define NEARFIELD_GLOBAL            // of a pointer to the memory of the device
#define NEARFIELD_SHARED            // of a pointer to the memory of a block
#define NEARFIELD_BLOCK __shared__  // of a variable in the memory of a block
// Of a loop over what is to stay in registers.
#define NEARFIELD_UNROLL_REGISTERS _Pragma("unroll")

namespace nearfield {

using i8 = signed char;
using u8 = unsigned char;
using u16 = unsigned short;
using i32 = int;
using u32 = unsigned int;
using u64 = unsigned long long;
using f16 = __half;

namespace device {

constexpr u32 kWarp = 32;
constexpr u32 kThreads = NEARFIELD_THREADS;  // of a block
constexpr u32 kWarps = kThreads / kWarp;

NEARFIELD_INLINE u32 thread() { return threadIdx.x; }
NEARFIELD_INLINE u32 lane() { return threadIdx.x % kWarp; }
NEARFIELD_INLINE u32 warp() { return threadIdx.x / kWarp; }
NEARFIELD_INLINE u32 block_x() { return blockIdx.x; }
NEARFIELD_INLINE u32 block_y() { return blockIdx.y; }
NEARFIELD_INLINE u32 blocks_x() { return gridDim.x; }
NEARFIELD_INLINE u32 blocks_y() { return gridDim.y; }

// All threads of the block have come so far, and see each other's writes to both memories.
NEARFIELD_INLINE void sync() { __syncthreads(); }
// The same, and whether it is true of any of them.
NEARFIELD_INLINE bool sync_any(bool of_this) { return __syncthreads_or(of_this) != 0; }
// All threads of the warp.
NEARFIELD_INLINE void sync_warp() { __syncwarp(); }

NEARFIELD_INLINE u32 shuffle_xor(u32 x, u32 mask) { return __shfl_xor_sync(~0u, x, mask); }
NEARFIELD_INLINE u64 shuffle_xor(u64 x, u32 mask) { return __shfl_xor_sync(~0u, x, mask); }
NEARFIELD_INLINE double shuffle_xor(double x, u32 mask) { return __shfl_xor_sync(~0u, x, mask); }
NEARFIELD_INLINE u32 shuffle(u32 x, u32 from) { return __shfl_sync(~0u, x, from); }
NEARFIELD_INLINE u64 shuffle(u64 x, u32 from) { return __shfl_sync(~0u, x, from); }
// Bit i: whether it is true of lane i.
NEARFIELD_INLINE u32 ballot(bool of_this) { return __ballot_sync(~0u, of_this); }

// What was there before.
NEARFIELD_INLINE u32 add_to_shared(NEARFIELD_SHARED u32* at, u32 x) { return atomicAdd(at, x); }
NEARFIELD_INLINE u32 add_to_global(NEARFIELD_GLOBAL u32* at, u32 x) { return atomicAdd(at, x); }
NEARFIELD_INLINE void max_in_global(NEARFIELD_GLOBAL u32* at, u32 x) { atomicMax(at, x); }
NEARFIELD_INLINE u32 or_in_global(NEARFIELD_GLOBAL u32* at, u32 x) { return atomicOr(at, x); }

NEARFIELD_INLINE u32 bits_of(float x) { return __float_as_uint(x); }
NEARFIELD_INLINE float float_of(u32 bits) { return __uint_as_float(bits); }
NEARFIELD_INLINE double double_of(u64 bits) {
  return __longlong_as_double(static_cast<long long>(bits));
}
NEARFIELD_INLINE u32 ones(u32 x) { return static_cast<u32>(__popc(x)); }
NEARFIELD_INLINE u64 ones(u64 x) { return static_cast<u64>(__popcll(x)); }

NEARFIELD_INLINE float float_of(f16 x) { return __half2float(x); }
NEARFIELD_INLINE f16 half_of(float x) { return __float2half_rn(x); }
NEARFIELD_INLINE u32 bits_of(f16 x) { return __half_as_ushort(x); }
// sum + a.0 * b.0 + ... + a.3 * b.3, of four bytes each.
NEARFIELD_INLINE i32 dot_bytes(u32 a, u32 b, i32 sum) {
  return __dp4a(static_cast<int>(a), static_cast<int>(b), sum);
}

}  // namespace device
}  // namespace nearfield

#elif defined(__OPENCL_CPP_VERSION__)

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#define NEARFIELD_INLINE inline __attribute__((always_inline))
#define NEARFIELD_KERNEL                                     \
  __attribute__((intel_reqd_sub_group_size(NEARFIELD_WARP))) \
  __attribute__((reqd_work_group_size(NEARFIELD_THREADS, 1, 1))) kernel void
#define NEARFIELD_GLOBAL __global
#define NEARFIELD_SHARED __local
#define NEARFIELD_BLOCK __local
// It keeps them in memory all the same, and would compile each round for a second.
#define NEARFIELD_UNROLL_REGISTERS _Pragma("unroll 1")

// Of extensions whose declarations the compiler's header lacks for C++.
uint __attribute__((overloadable)) sub_group_shuffle(uint, uint);
ulong __attribute__((overloadable)) sub_group_shuffle(ulong, uint);
uint __attribute__((overloadable)) sub_group_shuffle_xor(uint, uint);
ulong __attribute__((overloadable)) sub_group_shuffle_xor(ulong, uint);
uint4 __attribute__((overloadable)) sub_group_ballot(int);

namespace nearfield {

using i8 = char;
using u8 = uchar;
using u16 = ushort;
using i32 = int;
using u32 = uint;
using u64 = ulong;
using f16 = half;

namespace device {

constexpr u32 kWarp = NEARFIELD_WARP;
constexpr u32 kThreads = NEARFIELD_THREADS;  // of a block
constexpr u32 kWarps = kThreads / kWarp;

NEARFIELD_INLINE u32 lane() { return get_sub_group_local_id(); }
NEARFIELD_INLINE u32 blocks_x() { return static_cast<u32>(get_num_groups(0)); }
NEARFIELD_INLINE u32 blocks_y() { return static_cast<u32>(get_num_groups(1)); }
#if defined(NEARFIELD_SHUFFLED)
// For tests: from the last to the first. A CPU runs the warps of a block one after the other, each
// up to the next barrier: in their order, what reads what an earlier warp wrote would not miss it.
NEARFIELD_INLINE u32 warp() { return kWarps - 1 - get_sub_group_id(); }
NEARFIELD_INLINE u32 thread() { return warp() * kWarp + lane(); }
NEARFIELD_INLINE u32 block_x() { return blocks_x() - 1 - static_cast<u32>(get_group_id(0)); }
NEARFIELD_INLINE u32 block_y() { return blocks_y() - 1 - static_cast<u32>(get_group_id(1)); }
#else
NEARFIELD_INLINE u32 warp() { return get_sub_group_id(); }
NEARFIELD_INLINE u32 thread() { return static_cast<u32>(get_local_id(0)); }
NEARFIELD_INLINE u32 block_x() { return static_cast<u32>(get_group_id(0)); }
NEARFIELD_INLINE u32 block_y() { return static_cast<u32>(get_group_id(1)); }
#endif

NEARFIELD_INLINE void sync() { work_group_barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); }
NEARFIELD_INLINE bool sync_any(bool of_this) {
  sync();
  return work_group_any(of_this) != 0;
}
NEARFIELD_INLINE void sync_warp() { sub_group_barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); }

NEARFIELD_INLINE u32 shuffle_xor(u32 x, u32 mask) { return sub_group_shuffle_xor(x, mask); }
NEARFIELD_INLINE u64 shuffle_xor(u64 x, u32 mask) { return sub_group_shuffle_xor(x, mask); }
NEARFIELD_INLINE double shuffle_xor(double x, u32 mask) {
  return as_double(sub_group_shuffle_xor(as_ulong(x), mask));
}
NEARFIELD_INLINE u32 shuffle(u32 x, u32 from) { return sub_group_shuffle(x, from); }
NEARFIELD_INLINE u64 shuffle(u64 x, u32 from) { return sub_group_shuffle(x, from); }
NEARFIELD_INLINE u32 ballot(bool of_this) { return sub_group_ballot(of_this).x; }

NEARFIELD_INLINE u32 add_to_shared(NEARFIELD_SHARED u32* at, u32 x) { return atomic_add(at, x); }
NEARFIELD_INLINE u32 add_to_global(NEARFIELD_GLOBAL u32* at, u32 x) { return atomic_add(at, x); }
NEARFIELD_INLINE void max_in_global(NEARFIELD_GLOBAL u32* at, u32 x) { atomic_max(at, x); }
NEARFIELD_INLINE u32 or_in_global(NEARFIELD_GLOBAL u32* at, u32 x) { return atomic_or(at, x); }

NEARFIELD_INLINE u32 bits_of(float x) { return as_uint(x); }
NEARFIELD_INLINE float float_of(u32 bits) { return as_float(bits); }
NEARFIELD_INLINE double double_of(u64 bits) { return as_double(bits); }
NEARFIELD_INLINE u32 ones(u32 x) { return popcount(x); }
NEARFIELD_INLINE u64 ones(u64 x) { return popcount(x); }

NEARFIELD_INLINE float float_of(f16 x) { return x; }
NEARFIELD_INLINE f16 half_of(float x) { return static_cast<half>(x); }
NEARFIELD_INLINE u32 bits_of(f16 x) { return as_ushort(x); }
NEARFIELD_INLINE i32 dot_bytes(u32 a, u32 b, i32 sum) {
  const char4 x = as_char4(a);
  const char4 y = as_char4(b);
  return sum + x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
}

}  // namespace device
}  // namespace nearfield

#endif
