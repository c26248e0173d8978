#include "search/tiled_rows.hpp"

#include "core/fail.hpp"

namespace nearfield {

void TiledRows::read(std::int64_t first, std::int64_t count, Matrix& into, std::int64_t at) const {
  if (count > 0) bytes_.take(rows_.begin + first, count, into.row(at));
}

void PickedRows::read(std::int64_t first, std::int64_t count, Matrix& into, std::int64_t at) const {
  for (std::int64_t i = 0; i < count; ++i) {
    rows_.read(picks_[static_cast<std::size_t>(first + i)], 1, into, at + i);
  }
}

void fail_without_values(std::int64_t rows) {
  fail(ErrorCode::unsupported,
       "the index keeps codes of its {} vectors, and not the vectors: build it without "
       "'vectors=none' to read them",
       rows);
}

void RowsWithoutValues::read(std::int64_t /*first*/, std::int64_t /*count*/, Matrix& /*into*/,
                             std::int64_t /*at*/) const {
  fail_without_values(rows_);
}

}  // namespace nearfield
