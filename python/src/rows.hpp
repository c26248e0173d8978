// Rows that Python hands over: an array, or a file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nearfield/matrix.hpp>
#include <nearfield/prepared.hpp>
#include <nearfield/rows.hpp>

namespace nearfield::python {

namespace nb = nanobind;

// Any array of the host: the buffer protocol or DLPack.
using Array = nb::ndarray<nb::ro, nb::device::cpu>;

// In bytes, 0 for rows close to each other. Numpy gives a single row, or none, any stride.
inline std::int64_t row_stride(const Array& array) {
  return array.shape(0) > 1 ? array.stride(0) * static_cast<std::int64_t>(array.itemsize()) : 0;
}

class Rows {
 public:
  // Values of one row lie close to each other. bf16 comes as uint16, bits as uint8; cols is then
  // the number of bits.
  Rows(Array array, DType dtype, std::int64_t cols);
  Rows(const std::string& path, std::int64_t bits);
  // Rows that would be in memory, for a plan: it looks at type and shape alone.
  Rows(DType dtype, std::int64_t rows, std::int64_t cols);
  // Made of those of `origin`, at which it looks.
  Rows(const Rows& origin, PreparedRows prepared);

  const RowSource& source() const { return *source_; }

 private:
  Array array_;                              // kept alive; empty for a file
  std::shared_ptr<const RowSource> origin_;  // kept alive, of prepared rows
  std::shared_ptr<const RowSource> source_;
};

}  // namespace nearfield::python
