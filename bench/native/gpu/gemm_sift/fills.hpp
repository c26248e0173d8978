// What a table is filled with: dot products in four precisions, or distances by the naive kernel.
//
// The thesis's types are those of cuBLAS's arguments, its calculations those it adds up in. In its
// terms, each negated as -x y:
//   half, 16-bit    products and sums of halves; the table has halves
//   half, 32-bit    products of halves, sums of float32; the table has halves
//   float, 16-bit   the same, but the table has float32: cuBLAS rounds floats to halves on its way
//   float, 32-bit   float32 throughout there; here sums of float64, the table has float32
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "bench/native/gpu/gemm_sift/batched_run.hpp"
#include "bench/native/gpu/gemm_sift/descriptors.hpp"
#include "distance/product_scale.hpp"

namespace nearfield::bench {

enum class Precision : std::uint8_t { half_16, half_32, float_16, float_32 };
inline constexpr std::array<Precision, 4> kPrecisions = {Precision::half_16, Precision::half_32,
                                                         Precision::float_16, Precision::float_32};

std::string_view to_string(Precision precision);

// Data is on the device, converted, when it returns. A table of halves is that of float32 that a
// kernel rounds in place: not to be timed, of half_32 (sums of halves are halves already).
Fill product_fill(const Measuring& measuring, const Descriptors& descriptors, Precision precision,
                  const BatchShape& shape);
Fill naive_fill(const Measuring& measuring, const Descriptors& descriptors,
                const BatchShape& shape);

// How far a value of such a table may be from the true -x y, or from the squared distance.
double product_bound(const Descriptors& descriptors, Precision precision);
double naive_bound(const Descriptors& descriptors);

}  // namespace nearfield::bench
