// Some rows of a dataset, and the rows in memory that they are read into or written from.
#pragma once

#include <cstdint>

#include "handle.hpp"

namespace nearfield::hdf5 {

inline hsize_t to_hsize(std::int64_t n) { return static_cast<hsize_t>(n); }

class RowSlab {
 public:
  // In memory a row begins every `stride` values.
  RowSlab(const Handle& dataset, std::int64_t first, std::int64_t count, std::int64_t cols,
          std::int64_t stride);

  bool read(hid_t memory_type, void* out) const;
  bool write(hid_t memory_type, const void* values) const;

 private:
  hid_t dataset_;
  Handle there_;
  Handle here_;
  bool selected_;
};

}  // namespace nearfield::hdf5
