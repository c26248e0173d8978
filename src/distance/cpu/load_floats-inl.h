// As many values as the tag has lanes, of any type that float32 holds, as float32. Included inside
// the namespace of each Highway target.
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE hn::Vec<D> load_floats(D d, const float* values) {
  return hn::LoadU(d, values);
}

template <class D>
HWY_INLINE hn::Vec<D> load_floats(D d, const std::uint8_t* values) {
  const hn::Rebind<std::int32_t, D> wide;
  return hn::ConvertTo(d, hn::PromoteTo(wide, hn::LoadU(hn::Rebind<std::uint8_t, D>(), values)));
}

template <class D>
HWY_INLINE hn::Vec<D> load_floats(D d, const std::int8_t* values) {
  const hn::Rebind<std::int32_t, D> wide;
  return hn::ConvertTo(d, hn::PromoteTo(wide, hn::LoadU(hn::Rebind<std::int8_t, D>(), values)));
}

// The bits of values of 16 bits, in 32.
template <class D, class T>
HWY_INLINE auto load_bits(D /*d*/, const T* values) {
  const auto* bits = reinterpret_cast<const std::uint16_t*>(values);
  return hn::PromoteTo(hn::Rebind<std::uint32_t, D>(),
                       hn::LoadU(hn::Rebind<std::uint16_t, D>(), bits));
}

template <class D>
HWY_INLINE hn::Vec<D> load_floats(D d, const BFloat16* values) {
  return hn::BitCast(d, hn::ShiftLeft<16>(load_bits(d, values)));
}

// By hand, since Highway's conversion without F16C takes an infinity for 65,536: the bits moved to
// their places in a float32 are its value times 2^-112, subnormals too.
template <class D>
HWY_INLINE hn::Vec<D> load_floats(D d, const Float16* values) {
  const hn::Rebind<std::uint32_t, D> wide;
  const auto bits = load_bits(d, values);
  const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(wide, 0x8000)));
  const auto rest = hn::ShiftLeft<13>(hn::And(bits, hn::Set(wide, 0x7FFF)));
  const auto scaled = hn::Mul(hn::BitCast(d, rest), hn::Set(d, 0x1p112F));
  const auto top = hn::Set(wide, 0x7C00 << 13);  // NaN and infinity: the exponent is all ones
  const auto infinite = hn::Eq(hn::And(rest, top), top);
  const auto fixed =
      hn::Or(hn::BitCast(wide, scaled), hn::IfThenElseZero(infinite, hn::Set(wide, 0x7F800000)));
  return hn::BitCast(d, hn::Or(sign, fixed));
}
