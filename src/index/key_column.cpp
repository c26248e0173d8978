#include "index/key_column.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/fail.hpp"
#include "index/id_table.hpp"

namespace nearfield {

std::uint64_t key_hash(std::string_view key) { return XXH3_64bits(key.data(), key.size()); }

KeyColumn::KeyColumn(std::int64_t capacity)
    : own_(static_cast<std::size_t>(capacity)),
      own_table_(static_cast<std::size_t>(id_table_size(capacity))) {}

std::int64_t KeyColumn::bytes_for(std::int64_t capacity) {
  return capacity * static_cast<std::int64_t>(sizeof(std::string)) + 4 * id_table_size(capacity);
}

std::int64_t KeyColumn::bytes_of_its_own(std::string_view key) {
  constexpr std::int64_t kOfTheAllocator = 24;  // the final 0 among them, and rounding
  return key.size() > std::string().capacity() ? std::ssize(key) + kOfTheAllocator : 0;
}

std::span<const std::uint32_t> KeyColumn::table() const {
  return file_ ? file_->table : std::span<const std::uint32_t>(own_table_);
}

std::int64_t KeyColumn::rows() const {
  return file_ ? std::ssize(file_->offsets) - 1 : std::ssize(own_);
}

std::int64_t KeyColumn::bytes() const {
  const auto of_table = static_cast<std::int64_t>(table().size_bytes());
  if (file_) {
    return of_table + static_cast<std::int64_t>(file_->offsets.size_bytes()) +
           std::ssize(file_->bytes);
  }
  return of_table + std::ssize(own_) * static_cast<std::int64_t>(sizeof(std::string));
}

std::string_view KeyColumn::key(std::int64_t row) const {
  const auto i = static_cast<std::size_t>(row);
  if (!file_) return own_[i];
  const std::uint64_t begin = file_->offsets[i];
  const std::uint64_t end = file_->offsets[i + 1];
  if (begin > end || end > file_->bytes.size()) {
    fail(ErrorCode::corrupt_file, "the key of row {} is bytes {} to {}, and there are {}", row,
         begin, end, file_->bytes.size());
  }
  return {reinterpret_cast<const char*>(file_->bytes.data()) + begin, end - begin};
}

std::size_t KeyColumn::slot(std::string_view key) const {
  return slot_of(table(), rows(), key_hash(key),
                 [&](std::int64_t row) { return this->key(row) == key; });
}

void KeyColumn::enter(std::int64_t row) {
  own_table_[slot(own_[static_cast<std::size_t>(row)])] = static_cast<std::uint32_t>(row + 1);
}

std::optional<std::int64_t> KeyColumn::find(std::string_view key) const {
  const std::uint32_t row = table()[slot(key)];
  if (row == 0) return std::nullopt;
  return std::int64_t{row} - 1;
}

}  // namespace nearfield
