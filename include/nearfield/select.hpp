// The k first values of each row of a matrix that is already there: distances or scores computed
// elsewhere, partial results of shards to merge.
//
// The order is that of every search: by value, then by smaller id. It is total, so that the k
// results are the same for any thread count, and those of k = 10 are among those of k = 100.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <nearfield/context.hpp>
#include <nearfield/device_array.hpp>
#include <nearfield/matrix.hpp>
#include <nearfield/stats.hpp>

namespace nearfield {

// A read-only, row-major view of float32 or float64, with a stride. Unlike a MatrixView it may have
// any number of columns: one row of 10^8 values is usual here.
class ValuesView {
 public:
  // stride is in bytes; 0 means rows lie close to each other. Data and stride must be multiples of
  // the element size.
  ValuesView(const void* data, DType dtype, std::int64_t rows, std::int64_t cols,
             std::int64_t stride_bytes = 0);
  ValuesView(const float* data, std::int64_t rows, std::int64_t cols,
             std::int64_t stride_bytes = 0);
  ValuesView(const double* data, std::int64_t rows, std::int64_t cols,
             std::int64_t stride_bytes = 0);

  // Throws invalid_argument if it is of another type.
  ValuesView(MatrixView matrix);                                   // NOLINT(*-explicit-*)
  ValuesView(const Matrix& matrix) : ValuesView(matrix.view()) {}  // NOLINT(*-explicit-*)

  DType dtype() const { return dtype_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  std::int64_t stride_bytes() const { return stride_; }
  const std::byte* row(std::int64_t i) const { return data_ + i * stride_; }

 private:
  const std::byte* data_;
  std::int64_t rows_;
  std::int64_t cols_;
  std::int64_t stride_;
  DType dtype_;
};

struct SelectOptions {
  // May exceed the number of columns; 0 is valid.
  std::int64_t k = 10;

  // The k largest, the largest first. Of equal values the smaller id still comes first.
  bool largest = false;

  // False: the same k results in an unspecified order, which may differ from call to call with the
  // number of threads. Saves the sorting, which is most of the time where k is a large part of a
  // row.
  bool sorted = true;

  // One a column, the same for all rows; or one a value, row-major without a stride. Any numbers,
  // repeats allowed. Empty: the id of a value is its column. Looks at the caller's memory.
  std::span<const std::int64_t> ids = {};
};

// Row-major, rows x k.
struct Selected {
  std::int64_t rows = 0;
  std::int64_t k = 0;
  std::vector<std::int64_t> ids;
  std::vector<double> values;        // exactly those given, except that -0 becomes 0
  std::vector<std::int64_t> counts;  // how many of the k were found, a row
  Stats stats;

  std::span<const std::int64_t> ids_of(std::int64_t row) const { return part(ids, row); }
  std::span<const double> values_of(std::int64_t row) const { return part(values, row); }

 private:
  template <class T>
  std::span<const T> part(const std::vector<T>& all, std::int64_t row) const {
    return std::span(all).subspan(static_cast<std::size_t>(row * k), static_cast<std::size_t>(k));
  }
};

// A NaN is never returned. An infinity is a value like others, and -0 equals 0. Where a row has
// fewer than k values, `counts` says how many, and the rest is id -1, value +inf (-inf for
// `largest`).
//
// Of the context, `seed` plays no part: nothing is random. Progress counts values. What cancelling
// cannot interrupt is the last selection and the sorting of one row, which takes longer than 50 ms
// where k is above half a million.
//
// For k below a 64th of a row it takes about as long as reading the values; sorted, equal or
// missing values take no longer by much, unless many are equal and have ids, all of which are then
// read too. For larger k it mostly takes less time than std::nth_element over pairs of value and
// id, and std::sort of the first k. It may take longer where k is the whole row and nothing is
// sorted, and on rows of some thousand values that are all equal or in order.
Selected select_k(ValuesView values, const SelectOptions& options = {},
                  const Context& context = {});

// Of f32 or f64 in the memory of the device that the context names. Not copied, unless rows lie
// apart, and then within the device.
Selected select_k(const DeviceArray& values, const SelectOptions& options, const Context& context);

}  // namespace nearfield
