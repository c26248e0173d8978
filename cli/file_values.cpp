#include "file_values.hpp"

#include <algorithm>
#include <cmath>

#include <nearfield/convert.hpp>
#include <nearfield/results.hpp>

#include "row_pieces.hpp"

namespace nearfield::cli {
namespace {

template <class T>
void widen(std::optional<Range<T>>& range, T value) {
  range = range ? Range<T>{std::min(range->least, value), std::max(range->most, value)}
                : Range<T>{value, value};
}

// float64 holds the values of every type.
Matrix as_doubles(MatrixView rows) {
  Matrix doubles(DType::f64, rows.rows(), rows.cols());
  convert_values(rows, Rounding::none, doubles);
  return doubles;
}

void add_rows(VectorValues& values, MatrixView rows) {
  const Matrix doubles = as_doubles(rows);
  for (std::int64_t row = 0; row < doubles.rows(); ++row) {
    const auto* const numbers = reinterpret_cast<const double*>(doubles.row(row));
    bool finite = true;
    for (std::int64_t col = 0; col < doubles.cols(); ++col) {
      if (std::isfinite(numbers[col])) {
        widen(values.range, numbers[col]);
      } else {
        finite = false;
      }
    }
    values.rows_not_finite += finite ? 0 : 1;
  }
}

}  // namespace

VectorValues values_of(const RowSource& rows, bool quiet) {
  VectorValues values;
  for_each_piece(rows, {0, rows.rows()}, quiet,
                 [&](const Matrix& piece, std::int64_t) { add_rows(values, piece); });
  return values;
}

VectorValues values_of(MatrixView rows) {
  VectorValues values;
  add_rows(values, rows);
  return values;
}

IdValues values_of(const std::vector<std::int64_t>& ids) {
  IdValues values;
  for (const std::int64_t id : ids) {
    if (id == kNoId) {
      ++values.missing;
    } else {
      widen(values.range, id);
    }
  }
  return values;
}

Matrix first_rows(const RowSource& rows, std::int64_t count) {
  Matrix head(rows.dtype(), std::min(count, rows.rows()), rows.cols());
  rows.read(0, head.rows(), head, 0);
  return as_doubles(head);
}

}  // namespace nearfield::cli
