#include "value_type.hpp"

#include <array>

namespace nearfield::hdf5 {
namespace {

// HDF5 has no name for IEEE's half precision: 1 bit of sign, 5 of exponent, 10 of fraction.
hid_t make_half(hid_t single) {
  const hid_t half = H5Tcopy(single);
  H5Tset_fields(half, 15, 10, 5, 0, 10);
  H5Tset_size(half, 2);
  H5Tset_ebias(half, 15);
  return half;
}

struct Known {
  ValueType type;
  hid_t big_endian;
};

const auto& known() {
  static const std::array<Known, 7> types{{
      {{"f32", DType::f32, 4, H5T_IEEE_F32LE}, H5T_IEEE_F32BE},
      {{"f64", DType::f64, 8, H5T_IEEE_F64LE}, H5T_IEEE_F64BE},
      {{"f16", DType::f16, 2, make_half(H5T_IEEE_F32LE)}, make_half(H5T_IEEE_F32BE)},
      {{"u8", DType::u8, 1, H5T_STD_U8LE}, H5T_STD_U8BE},
      {{"i8", DType::i8, 1, H5T_STD_I8LE}, H5T_STD_I8BE},
      {{"int32 ids", std::nullopt, 4, H5T_STD_I32LE}, H5T_STD_I32BE},
      {{"int64 ids", std::nullopt, 8, H5T_STD_I64LE}, H5T_STD_I64BE},
  }};
  return types;
}

}  // namespace

const ValueType* find_type(hid_t type) {
  for (const Known& one : known()) {
    if (H5Tequal(type, one.type.memory) > 0 || H5Tequal(type, one.big_endian) > 0) {
      return &one.type;
    }
  }
  return nullptr;
}

const ValueType* type_of(DType dtype) {
  for (const Known& one : known()) {
    if (one.type.dtype == dtype) {
      return &one.type;
    }
  }
  return nullptr;
}

const ValueType& int32_ids() { return *find_type(H5T_STD_I32LE); }

hid_t int64_in_memory() { return H5T_STD_I64LE; }

std::string known_types() {
  std::string names;
  for (const Known& one : known()) {
    if (one.type.dtype) {
      names += (names.empty() ? "" : ", ") + one.type.name;
    }
  }
  return names;
}

}  // namespace nearfield::hdf5
