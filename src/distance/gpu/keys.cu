// One thread, one (query, row) pair: the definition of a key on a device. nvcc compiles this file
// for NVIDIA, clang (C++ for OpenCL 2021) to SPIR-V. The metric comes from the command line:
// -DNEARFIELD_METRIC=name.
#include <nearfield/metric_kinds.hpp>

#if defined(__CUDACC__)
#define NEARFIELD_INLINE __device__ __forceinline__
#define NEARFIELD_KERNEL extern "C" __global__ void
#define NEARFIELD_GLOBAL
using u8 = unsigned char;
using u64 = unsigned long long;
NEARFIELD_INLINE u64 thread_index() { return u64{blockIdx.x} * blockDim.x + threadIdx.x; }
NEARFIELD_INLINE u64 population_count(u64 x) { return static_cast<u64>(__popcll(x)); }
#elif defined(__OPENCL_CPP_VERSION__)
#define NEARFIELD_INLINE inline
#define NEARFIELD_KERNEL kernel void
#define NEARFIELD_GLOBAL __global
using u8 = uchar;
using u64 = ulong;
NEARFIELD_INLINE u64 thread_index() { return get_global_id(0); }
NEARFIELD_INLINE u64 population_count(u64 x) { return popcount(x); }
#endif

namespace nearfield {

// Not sorted: the metrics need what is above them.
// clang-format off
#include "distance/scalar_operations.h"
#include "distance/all_metrics.inc"
// clang-format on
#include "distance/metric_with.h"
#include "distance/sum_tree.h"

// N: what the metric adds up; T: what memory holds.
template <class M, class N, class T>
NEARFIELD_INLINE double key_of_pair(NEARFIELD_GLOBAL const T* x, NEARFIELD_GLOBAL const T* y,
                                    u64 count, double p) {
  const M metric = metric_with<M>(p, 0);
  N partial[8 * M::sums] = {};
  for (u64 i = 0; i < count; ++i) {
    N sum[M::sums];
    for (int s = 0; s < M::sums; ++s) sum[s] = partial[8 * s + i % 8];
    metric.template accumulate<N>(sum, static_cast<N>(x[i]), static_cast<N>(y[i]));
    for (int s = 0; s < M::sums; ++s) partial[8 * s + i % 8] = sum[s];
  }
  double sums[8 * M::sums];
  for (int i = 0; i < 8 * M::sums; ++i) sums[i] = static_cast<double>(partial[i]);
  return key_from_sums<M>(sums);
}

// A word of bits or a float a step; one instantiation a metric, by what it reads.
template <class M, MetricInput>
struct Element {
  using Number = double;
  using Stored = float;
};
template <class M>
struct Element<M, MetricInput::bits> {
  using Number = u64;
  using Stored = u64;
};
using Read = Element<NEARFIELD_METRIC, NEARFIELD_METRIC::input>;

}  // namespace nearfield

NEARFIELD_KERNEL nearfield_keys(NEARFIELD_GLOBAL const nearfield::Read::Stored* queries,
                                NEARFIELD_GLOBAL const nearfield::Read::Stored* rows,
                                u64 query_count, u64 row_count, u64 count, double p,
                                NEARFIELD_GLOBAL double* keys) {
  const u64 pair = thread_index();
  if (pair >= query_count * row_count) return;
  keys[pair] = nearfield::key_of_pair<nearfield::NEARFIELD_METRIC, nearfield::Read::Number,
                                      nearfield::Read::Stored>(
      queries + pair / row_count * count, rows + pair % row_count * count, count, p);
}
