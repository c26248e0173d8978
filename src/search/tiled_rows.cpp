#include "search/tiled_rows.hpp"

namespace nearfield {

void TiledRows::read(std::int64_t first, std::int64_t count, Matrix& into, std::int64_t at) const {
  for (std::int64_t i = 0; i < count; ++i) {
    bytes_.take(rows_.begin + first + i, into.row(at + i));
  }
}

void PickedRows::read(std::int64_t first, std::int64_t count, Matrix& into, std::int64_t at) const {
  for (std::int64_t i = 0; i < count; ++i) {
    rows_.read(picks_[static_cast<std::size_t>(first + i)], 1, into, at + i);
  }
}

}  // namespace nearfield
