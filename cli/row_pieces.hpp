// Going through all rows of a file with a small part of it in memory.
#pragma once

#include <cstdint>
#include <functional>

#include <nearfield/matrix.hpp>
#include <nearfield/rows.hpp>

namespace nearfield::cli {

struct RowRange {
  std::int64_t first;
  std::int64_t count;
};

// Calls `use` with one piece after the other, and the number of its first row. Shows how far it is
// unless `quiet`, and throws `cancelled` after a signal to end.
void for_each_piece(const RowSource& source, RowRange range, bool quiet,
                    const std::function<void(const Matrix& piece, std::int64_t first)>& use);

}  // namespace nearfield::cli
