// What a metric's template computes on, on a CPU: Numbers holds eight float64 and Words eight
// 64-bit words, in as many registers of the target as that takes. Included inside the namespace of
// each Highway target, after load_floats-inl.h.
using NumberTag = hn::CappedTag<double, 8>;
using WordTag = hn::CappedTag<std::uint64_t, 8>;
constexpr std::size_t kLanes = hn::MaxLanes(NumberTag());
constexpr std::size_t kParts = 8 / kLanes;

// The constructors are written out because g++ would make them without the target's attributes,
// and Highway's own on NEON can then not be inlined.
struct Numbers {
  HWY_INLINE Numbers() {}
  hn::Vec<NumberTag> part[kParts];
};

struct Words {
  HWY_INLINE Words() {}
  hn::Vec<WordTag> part[kParts];
};

#define NEARFIELD_PACK_OPERATOR(Pack, symbol, Operation) \
  HWY_INLINE Pack operator symbol(Pack a, Pack b) {      \
    for (std::size_t i = 0; i < kParts; ++i) {           \
      a.part[i] = hn::Operation(a.part[i], b.part[i]);   \
    }                                                    \
    return a;                                            \
  }
NEARFIELD_PACK_OPERATOR(Numbers, +, Add)
NEARFIELD_PACK_OPERATOR(Numbers, -, Sub)
NEARFIELD_PACK_OPERATOR(Numbers, *, Mul)
NEARFIELD_PACK_OPERATOR(Words, +, Add)
NEARFIELD_PACK_OPERATOR(Words, ^, Xor)
NEARFIELD_PACK_OPERATOR(Words, |, Or)
#undef NEARFIELD_PACK_OPERATOR

HWY_INLINE Numbers absolute(Numbers a) {
  for (std::size_t i = 0; i < kParts; ++i) a.part[i] = hn::Abs(a.part[i]);
  return a;
}

// NaN if either is: x86's own maximum takes the second operand then, and would lose the first.
HWY_INLINE Numbers larger(Numbers a, Numbers b) {
  for (std::size_t i = 0; i < kParts; ++i) {
    const auto keep = hn::Or(hn::Gt(a.part[i], b.part[i]), hn::IsNaN(a.part[i]));
    a.part[i] = hn::IfThenElse(keep, a.part[i], b.part[i]);
  }
  return a;
}

HWY_INLINE Numbers square_root(Numbers a) {
  for (std::size_t i = 0; i < kParts; ++i) a.part[i] = hn::Sqrt(a.part[i]);
  return a;
}

HWY_INLINE Words population_count(Words a) {
  for (std::size_t i = 0; i < kParts; ++i) a.part[i] = hn::PopulationCount(a.part[i]);
  return a;
}

HWY_INLINE void set_zero(Numbers& a) {
  for (std::size_t i = 0; i < kParts; ++i) a.part[i] = hn::Zero(NumberTag());
}

HWY_INLINE void set_zero(Words& a) {
  for (std::size_t i = 0; i < kParts; ++i) a.part[i] = hn::Zero(WordTag());
}

HWY_INLINE void store(Numbers a, double* out) {
  for (std::size_t i = 0; i < kParts; ++i) {
    hn::StoreU(a.part[i], NumberTag(), out + i * kLanes);
  }
}

HWY_INLINE void store(Words a, double* out) {
  alignas(64) std::uint64_t words[8];
  for (std::size_t i = 0; i < kParts; ++i) hn::Store(a.part[i], WordTag(), words + i * kLanes);
  for (std::size_t i = 0; i < 8; ++i) out[i] = static_cast<double>(words[i]);
}

// One lane after the other: with branches, and rare.
HWY_INLINE Numbers any_power(Numbers a, double p) {
  alignas(64) double values[8];
  store(a, values);
  for (double& value : values) value = any_power(value, p);
  for (std::size_t i = 0; i < kParts; ++i) {
    a.part[i] = hn::Load(NumberTag(), values + i * kLanes);
  }
  return a;
}

// kLanes values of type T, exactly.
using Narrow = hn::Rebind<float, NumberTag>;
using Integers = hn::Rebind<std::int32_t, NumberTag>;

template <class T>
HWY_INLINE auto load_values(const T* values) {
  return hn::LoadU(hn::Rebind<T, NumberTag>(), values);
}

HWY_INLINE hn::Vec<NumberTag> load_part(const double* values) { return load_values(values); }

// float, Float16, BFloat16
template <class T>
HWY_INLINE hn::Vec<NumberTag> load_part(const T* values) {
  return hn::PromoteTo(NumberTag(), load_floats(Narrow(), values));
}

HWY_INLINE hn::Vec<NumberTag> load_part(const std::uint8_t* values) {
  return hn::PromoteTo(NumberTag(), hn::PromoteTo(Integers(), load_values(values)));
}

HWY_INLINE hn::Vec<NumberTag> load_part(const std::int8_t* values) {
  return hn::PromoteTo(NumberTag(), hn::PromoteTo(Integers(), load_values(values)));
}

// Eight values of a row in memory, and eight of a prepared query.
template <class T>
struct NumberRow {
  using Pack = Numbers;
  static constexpr std::int64_t step_bytes = 8 * static_cast<std::int64_t>(sizeof(T));

  static HWY_INLINE Numbers load(const std::byte* row) {
    Numbers pack;
    for (std::size_t i = 0; i < kParts; ++i) {
      pack.part[i] = load_part(reinterpret_cast<const T*>(row) + i * kLanes);
    }
    return pack;
  }
  static HWY_INLINE Numbers load_query(const std::byte* query) {
    return NumberRow<double>::load(query);
  }
};

struct BitRow {
  using Pack = Words;
  static constexpr std::int64_t step_bytes = 64;

  static HWY_INLINE Words load(const std::byte* row) {
    Words pack;
    for (std::size_t i = 0; i < kParts; ++i) {
      pack.part[i] = hn::LoadU(WordTag(), reinterpret_cast<const std::uint64_t*>(row) + i * kLanes);
    }
    return pack;
  }
  static HWY_INLINE Words load_query(const std::byte* query) { return load(query); }
};
