// Which types of HDF5 are types of ours.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <optional>
#include <string>

#include <nearfield/matrix.hpp>

namespace nearfield::hdf5 {

struct ValueType {
  std::string name;            // "f32", "int32 ids"
  std::optional<DType> dtype;  // empty: ids
  std::int64_t bytes;
  hid_t memory;  // how HDF5 calls it in memory and in files written here; lives until the end
};

// The types of vectors and ids, in the byte order of this machine or the other one; null for the
// rest of HDF5's types.
const ValueType* find_type(hid_t type);

// Null for what HDF5 files do not hold.
const ValueType* type_of(DType dtype);

// Ids are written so, as ann-benchmarks does.
const ValueType& int32_ids();

// Ids are read so.
hid_t int64_in_memory();

// "f32, f64, ...": those of vectors.
std::string known_types();

}  // namespace nearfield::hdf5
