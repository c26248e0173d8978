#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "distance/cpu/row_loader.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "device/targets.h"
#include "distance/row_loader.hpp"

HWY_BEFORE_NAMESPACE();
namespace nearfield::HWY_NAMESPACE {

#include "distance/cpu/load_floats-inl.h"

using Numbers = hn::ScalableTag<double>;
constexpr std::int64_t kLanes = hn::MaxLanes(Numbers());

template <class T>
struct Floats {
  using Tag = hn::Rebind<float, Numbers>;
  using Bits = hn::Rebind<std::uint32_t, Numbers>;
  static constexpr std::uint32_t kExponent = 0x7F80'0000;

  static HWY_INLINE auto load(const T* values) { return load_floats(Tag(), values); }
  template <class V>
  static HWY_INLINE auto numbers(V values) {
    return hn::PromoteTo(Numbers(), values);
  }
};

template <>
struct Floats<double> {
  using Bits = hn::RebindToUnsigned<Numbers>;
  static constexpr std::uint64_t kExponent = 0x7FF0'0000'0000'0000;

  static HWY_INLINE auto load(const double* values) { return hn::LoadU(Numbers(), values); }
  template <class V>
  static HWY_INLINE V numbers(V values) {
    return values;
  }
};

// What is not finite, and nothing else, has an exponent of all ones.
template <class T>
bool load_row(const std::byte* row, std::int64_t cols, double* out) {
  using Of = Floats<T>;
  const typename Of::Bits bits;
  const auto exponent = hn::Set(bits, Of::kExponent);
  auto infinite = hn::Zero(bits);
  const auto load = [&](const T* from, double* to) HWY_ATTR {
    const auto values = Of::load(from);
    const auto in_exponent = hn::And(hn::BitCast(bits, values), exponent);
    infinite = hn::Or(infinite, hn::VecFromMask(bits, hn::Eq(in_exponent, exponent)));
    hn::StoreU(Of::numbers(values), Numbers(), to);
  };
  const auto* values = reinterpret_cast<const T*>(row);
  std::int64_t i = 0;
  for (; i + kLanes <= cols; i += kLanes) load(values + i, out + i);
  if (i < cols) {
    T rest[kLanes] = {};
    double numbers[kLanes];
    const auto behind = static_cast<std::size_t>(cols - i);
    __builtin_memcpy(rest, values + i, behind * sizeof(T));
    load(rest, numbers);
    __builtin_memcpy(out + i, numbers, behind * sizeof(double));
  }
  return hn::AllTrue(bits, hn::Eq(infinite, hn::Zero(bits)));
}

constexpr RowLoaders kRowLoaders{load_row<double>,
                                 load_row<float>,
                                 load_row<Float16>,
                                 load_row<BFloat16>,
                                 load_row<std::uint8_t>,
                                 load_row<std::int8_t>,
                                 nullptr};

}  // namespace nearfield::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "device/vector_isa.hpp"

namespace nearfield {

const RowLoaders& row_loaders(Isa isa) {
  const Isa vectors = vector_isa(isa);
#define NEARFIELD_CASE(name, target, bit) \
  if (vectors == Isa::name) return target::kRowLoaders;
  NEARFIELD_FOR_EACH_TARGET(NEARFIELD_CASE)
#undef NEARFIELD_CASE
  return HWY_STATIC_DISPATCH(kRowLoaders);
}

}  // namespace nearfield
#endif
