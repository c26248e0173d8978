// What selecting does with many values at once, by type, direction and ISA.
#pragma once

#include <cstddef>
#include <cstdint>

#include <nearfield/isa.hpp>

namespace nearfield {

// Values of which the kernels keep the first one, so that most need not be looked at again.
inline constexpr std::int64_t kGroup = 16;

// Kernels of one direction: "first" is smallest, or largest. A value is in time if it does not come
// after `last`; a NaN never is. `last` is no NaN.
template <class T>
struct ValueKernels {
  // The first value of each group, or what comes last of all (an infinity) if it has no value. A
  // group is spread over a block of whole registers; `count` is cut to whole blocks, and the answer
  // is how many groups that are. Blocks are at most kMostBlock values.
  std::int64_t (*group_firsts)(const T* values, std::int64_t count, T* firsts);

  // How many are in time.
  std::int64_t (*count)(const T* values, std::int64_t count, T last);

  // Writes the positions of those in time, in order, at most `count`; returns how many. `firsts` of
  // group_firsts for the same values, or null.
  std::int64_t (*find)(const T* values, std::int64_t count, T last, const T* firsts,
                       std::uint32_t* positions);

  // Copies those that come after `after` and are in time, at most `count`; returns how many. Adds
  // the number of those that do not come after `after` to `before`.
  std::int64_t (*copy_between)(const T* values, std::int64_t count, T after, T last, T* out,
                               std::int64_t* before);
};

inline constexpr std::int64_t kMostBlock = 256;

struct SelectKernels {
  const char* target;           // Highway's namespace they were compiled in
  ValueKernels<float> f32[2];   // [0] smallest first, [1] largest first
  ValueKernels<double> f64[2];  // likewise

  template <class T>
  const ValueKernels<T>& of(bool largest) const {
    if constexpr (sizeof(T) == sizeof(float)) {
      return f32[largest];
    } else {
      return f64[largest];
    }
  }
};

// Those of one ISA, never changed; throws unsupported if it was not built or this CPU lacks it.
const SelectKernels& select_kernels(Isa isa);

// Null where it was not built. The CPU is not asked.
const SelectKernels* built_select_kernels(Isa isa);

}  // namespace nearfield
