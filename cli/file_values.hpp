// What the values of a file are: their range, and its first rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nearfield/files.hpp>

namespace nearfield::cli {

// Of numbers that are neither NaN nor infinite, and of ids that are not -1.
template <class T>
struct Range {
  T least;
  T most;
};

struct VectorValues {
  std::optional<Range<double>> range;
  std::int64_t rows_not_finite = 0;
};

struct IdValues {
  std::optional<Range<std::int64_t>> range;
  std::int64_t missing = 0;  // how many are -1
};

// In pieces.
VectorValues values_of(const RowSource& rows, bool quiet);
VectorValues values_of(MatrixView rows);
IdValues values_of(const std::vector<std::int64_t>& ids);

// The first rows as numbers; all of them, if there are fewer.
Matrix first_rows(const RowSource& rows, std::int64_t count);

}  // namespace nearfield::cli
