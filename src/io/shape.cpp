#include "io/shape.hpp"

#include "core/checked.hpp"

namespace nearfield {

void check_shape(const std::string& path, std::int64_t rows, std::int64_t cols,
                 std::int64_t most_rows, std::int64_t most_cols) {
  if (rows < 0 || cols < 0 || rows > most_rows || cols > most_cols) {
    fail(ErrorCode::invalid_argument,
         "{}: {} rows x {} columns do not fit this file: it holds 0 to {} rows of 0 to {} columns",
         path, rows, cols, most_rows, most_cols);
  }
  if (rows > 0 && cols == 0) {
    fail(ErrorCode::invalid_argument,
         "{}: {} rows of 0 columns; only a file of 0 rows may have no columns", path, rows);
  }
}

void check_count(const std::string& path, std::string_view what, std::int64_t rows,
                 std::int64_t cols, std::size_t count) {
  const std::int64_t expected = checked_mul(rows, cols, path);
  if (expected != static_cast<std::int64_t>(count)) {
    fail(ErrorCode::invalid_argument, "{}: {} rows x {} columns need {} {}, got {}", path, rows,
         cols, expected, what, count);
  }
}

}  // namespace nearfield
