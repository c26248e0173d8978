#include "index/part.hpp"

#include <cstring>
#include <utility>

#include "core/checked.hpp"

namespace nearfield {

Part::Part(DType dtype, std::int64_t cols, std::int64_t capacity)
    : own_rows_(checked_mul(capacity, row_bytes(dtype, cols), "bytes of the rows")),
      own_ids_(capacity),
      own_table_(static_cast<std::size_t>(id_table_size(capacity))),
      rows_(own_rows_.data(), dtype, capacity, cols),
      ids_(own_ids_.data(), static_cast<std::size_t>(capacity)),
      table_(own_table_) {}

Part::Part(std::shared_ptr<const TensorFile> file, MatrixView rows,
           std::span<const std::int64_t> ids, std::span<const std::uint32_t> table)
    : file_(std::move(file)), rows_(rows), ids_(ids), table_(table) {}

std::int64_t Part::bytes() const {
  return rows_.rows() * rows_.stride_bytes() + static_cast<std::int64_t>(ids_.size_bytes()) +
         static_cast<std::int64_t>(table_.size_bytes());
}

void Part::put(std::int64_t row, const std::byte* values, std::int64_t id) {
  const auto bytes = static_cast<std::size_t>(row_bytes(rows_.dtype(), rows_.cols()));
  if (bytes > 0) std::memcpy(own_rows_.data() + row * rows_.stride_bytes(), values, bytes);
  own_ids_[row] = id;
}

void Part::enter(std::int64_t row) {
  own_table_[id_slot(own_table_, ids_, own_ids_[row])] = static_cast<std::uint32_t>(row + 1);
}

}  // namespace nearfield
