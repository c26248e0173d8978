#include "index/pivot/object_ids.hpp"

#include <algorithm>
#include <limits>

#include <nearfield/results.hpp>

#include "core/checked.hpp"
#include "core/fail.hpp"
#include "core/grow_room.hpp"
#include "index/id_table.hpp"

namespace nearfield {

ObjectIds::ObjectIds(std::span<const std::int64_t> ids, std::span<const std::uint32_t> table,
                     std::int64_t next)
    : ids_(ids), table_(table), next_(next) {}

std::int64_t ObjectIds::bytes_for(std::int64_t rows) {
  return rows * static_cast<std::int64_t>(sizeof(std::int64_t)) +
         id_table_size(rows) * static_cast<std::int64_t>(sizeof(std::uint32_t)) +
         divide_up(rows, 64) * static_cast<std::int64_t>(sizeof(std::uint64_t));
}

std::int64_t ObjectIds::bytes() const { return bytes_for(rows()); }

bool ObjectIds::is_live(std::int64_t row) const {
  return live_.empty() || (live_[static_cast<std::size_t>(row / 64)] >> (row % 64) & 1) != 0;
}

std::vector<std::int64_t> ObjectIds::live_rows() const {
  std::vector<std::int64_t> rows;
  rows.reserve(static_cast<std::size_t>(live()));
  for (std::int64_t row = 0; row < this->rows(); ++row) {
    if (is_live(row)) rows.push_back(row);
  }
  return rows;
}

std::optional<std::int64_t> ObjectIds::find(std::int64_t id) const {
  if (ids_.empty()) return std::nullopt;
  const std::optional<std::int64_t> row = find_row(table_, ids_, id);
  return row && is_live(*row) ? row : std::nullopt;
}

void ObjectIds::check_new(std::span<const std::int64_t> ids) const {
  if (rows() + std::ssize(ids) > kMostPartRows) {
    fail(ErrorCode::unsupported, "an index holds at most {} objects, and {} more would be {}",
         kMostPartRows, ids.size(), rows() + std::ssize(ids));
  }
  std::vector<std::int64_t> sorted(ids.begin(), ids.end());
  std::sort(sorted.begin(), sorted.end());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end()) {
    fail(ErrorCode::invalid_argument, "id {} comes twice: give each object its own", *twice);
  }
  for (const std::int64_t id : ids) {
    if (id == kNoId) {
      fail(ErrorCode::invalid_argument, "the id {} stands for 'not found': give another", kNoId);
    }
    if (find(id)) {
      fail(ErrorCode::invalid_argument, "id {} is in the index already: remove it first", id);
    }
  }
}

// Of the rows that are there, with room for so many. Later rows come in place of earlier ones of
// the same id, which are gone.
std::vector<std::uint32_t> ObjectIds::table_for(std::int64_t rows) const {
  std::vector<std::uint32_t> table(static_cast<std::size_t>(id_table_size(rows)));
  for (std::int64_t row = 0; row < std::ssize(own_ids_); ++row) {
    table[id_slot(table, own_ids_, own_ids_[static_cast<std::size_t>(row)])] =
        static_cast<std::uint32_t>(row + 1);
  }
  return table;
}

// Room for so many rows, of which there are more afterwards. Each step that may fail leaves what
// was there.
void ObjectIds::make_room_for(std::int64_t rows) {
  if (own_ids_.empty()) own_ids_.assign(ids_.begin(), ids_.end());
  grow_room(own_ids_, static_cast<std::size_t>(rows) - own_ids_.size());
  ids_ = own_ids_;
  if (std::ssize(own_table_) < id_table_size(rows)) own_table_ = table_for(rows);
  table_ = own_table_;
  if (!live_.empty()) {
    grow_room(live_, static_cast<std::size_t>(divide_up(rows, 64)) - live_.size());
  }
}

void ObjectIds::add(std::span<const std::int64_t> ids) {
  if (ids.empty()) return;
  const std::int64_t before = rows();
  const std::int64_t rows = before + std::ssize(ids);
  make_room_for(rows);
  own_ids_.insert(own_ids_.end(), ids.begin(), ids.end());
  ids_ = own_ids_;
  for (std::int64_t row = before; row < rows; ++row) {
    own_table_[id_slot(own_table_, own_ids_, own_ids_[static_cast<std::size_t>(row)])] =
        static_cast<std::uint32_t>(row + 1);
  }
  if (!live_.empty()) {
    live_.resize(static_cast<std::size_t>(divide_up(rows, 64)));
    for (std::int64_t row = before; row < rows; ++row) {
      live_[static_cast<std::size_t>(row / 64)] |= std::uint64_t{1} << (row % 64);
    }
  }
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t id : ids) next_ = std::max(next_, id < kLast ? id + 1 : kLast);
}

std::int64_t ObjectIds::remove(std::span<const std::int64_t> ids) {
  std::int64_t removed = 0;
  for (const std::int64_t id : ids) {
    const std::optional<std::int64_t> row = find(id);
    if (!row) continue;
    if (live_.empty()) {
      live_.assign(static_cast<std::size_t>(divide_up(rows(), 64)), ~std::uint64_t{0});
      if (rows() % 64 != 0) live_.back() = (std::uint64_t{1} << (rows() % 64)) - 1;
    }
    live_[static_cast<std::size_t>(*row / 64)] &= ~(std::uint64_t{1} << (*row % 64));
    ++removed;
    ++removed_;
  }
  return removed;
}

ObjectIds ObjectIds::compacted() const {
  std::vector<std::int64_t> ids;
  ids.reserve(static_cast<std::size_t>(live()));
  for (const std::int64_t row : live_rows()) ids.push_back(ids_[static_cast<std::size_t>(row)]);
  ObjectIds result;
  result.add(ids);
  result.next_ = next_;
  return result;
}

}  // namespace nearfield
