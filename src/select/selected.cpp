#include "select/selected.hpp"

#include <limits>

#include "core/checked.hpp"
#include "core/fill.hpp"
#include "core/make_room.hpp"
#include "select/sort_items.hpp"

namespace nearfield {

std::int64_t selected_bytes(std::int64_t rows, std::int64_t k) {
  const std::int64_t slots = checked_mul(rows, k, "rows x k");
  return checked_add(checked_mul(slots, 16, "bytes of the result"),
                     checked_mul(rows, 8, "bytes of the result"), "bytes of the result");
}

Selected none_selected(std::int64_t rows, const SelectOptions& options, const Monitor& monitor) {
  Selected selected;
  selected.rows = rows;
  selected.k = options.k;
  const std::int64_t slots = rows * options.k;
  const double none = std::numeric_limits<double>::infinity();
  fill(selected.ids, slots, kNoId, monitor);
  fill(selected.values, slots, options.largest ? -none : none, monitor);
  fill(selected.counts, rows, std::int64_t{0}, monitor);
  return selected;
}

void sort_selected(DType dtype, std::vector<Neighbor>& pairs, std::vector<Neighbor>& spare) {
  if (std::ssize(pairs) >= kRadixFrom) make_room(spare, pairs.size());
  if (dtype == DType::f32) {
    sort_items<float, Neighbor>(pairs, spare);
  } else {
    sort_items<double, Neighbor>(pairs, spare);
  }
}

void write_selected(std::int64_t row, const std::vector<Neighbor>& pairs, bool largest,
                    Selected& selected) {
  selected.counts[static_cast<std::size_t>(row)] = std::ssize(pairs);
  auto slot = static_cast<std::size_t>(row * selected.k);
  for (const Neighbor& pair : pairs) {
    selected.ids[slot] = pair.id;
    selected.values[slot] = (largest ? -pair.key : pair.key) + 0.0;  // -0 becomes 0
    ++slot;
  }
}

}  // namespace nearfield
