#include "index/part.hpp"

#include <atomic>
#include <cstring>
#include <utility>

#include "core/checked.hpp"
#include "core/decode.hpp"
#include "core/fail.hpp"

namespace nearfield {

bool has_not_finite(DType dtype) {
  return dtype == DType::f64 || dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

Part::Part(const IndexSpec& spec, std::int64_t capacity)
    : own_rows_(checked_mul(capacity, row_bytes(spec.dtype, spec.cols), "bytes of the rows")),
      own_ids_(capacity),
      own_table_(static_cast<std::size_t>(id_table_size(capacity))),
      own_not_finite_(has_not_finite(spec.dtype) ? words_of_rows(capacity) : 0),
      rows_(own_rows_.data(), spec.dtype, capacity, spec.cols),
      ids_(own_ids_.data(), static_cast<std::size_t>(capacity)),
      table_(own_table_) {
  if (spec.keys) keys_.emplace(capacity);
}

std::int64_t Part::bytes_for(const IndexSpec& spec, std::int64_t capacity) {
  const std::int64_t not_finite = has_not_finite(spec.dtype) ? 8 * divide_up(capacity, 64) : 0;
  return capacity * (row_bytes(spec.dtype, spec.cols) + 8) + 4 * id_table_size(capacity) +
         not_finite + (spec.keys ? KeyColumn::bytes_for(capacity) : 0);
}

Part::Part(Stored stored)
    : file_(std::move(stored.file)),
      stored_(std::move(stored.packed)),
      rows_(stored.rows),
      ids_(stored.ids),
      table_(stored.table),
      not_finite_(stored.not_finite) {
  if (stored.keys) keys_.emplace(*stored.keys);
}

std::uint64_t Part::not_finite(std::size_t word, std::int64_t count) const {
  std::uint64_t bits = 0;
  if (!own_not_finite_.empty()) {
    bits = std::atomic_ref(own_not_finite_[word]).load(std::memory_order_relaxed);
  } else if (!not_finite_.empty()) {
    bits = not_finite_[word];
  }
  const std::int64_t behind = static_cast<std::int64_t>(word + 1) * 64 - count;
  return behind > 0 ? bits & ~std::uint64_t{0} >> behind : bits;
}

SharedPacked Part::stored_packed() const {
  if (!stored_) return nullptr;
  std::call_once(packed_once_, [&] { packed_ = packed_of_file(*stored_, rows_.rows()); });
  return packed_;
}

std::int64_t Part::bytes() const {
  return rows_.rows() * rows_.stride_bytes() + static_cast<std::int64_t>(ids_.size_bytes()) +
         static_cast<std::int64_t>(table_.size_bytes()) + (keys_ ? keys_->bytes() : 0) +
         (stored_ ? bytes_of(stored_->tensors) : 0);
}

// Says which file is not as it should be.
template <class Look>
auto Part::of_file(const Look& look) const {
  if (file_ == nullptr) return look();
  try {
    return look();
  } catch (const Error& error) {
    fail(error.code(), "{}: {}", file_->path(), error.what());
  }
}

std::optional<std::int64_t> Part::find(std::int64_t id) const {
  return of_file([&] { return find_row(table_, ids_, id); });
}

std::optional<std::int64_t> Part::find(std::string_view key) const {
  return of_file([&] { return keys_->find(key); });
}

std::string_view Part::key(std::int64_t row) const {
  return of_file([&] { return keys_->key(row); });
}

void Part::put(std::int64_t row, const std::byte* values, std::int64_t id, std::string_view key) {
  const auto bytes = static_cast<std::size_t>(row_bytes(rows_.dtype(), rows_.cols()));
  if (bytes > 0) std::memcpy(own_rows_.data() + row * rows_.stride_bytes(), values, bytes);
  own_ids_[row] = id;
  if (keys_) keys_->put(row, key);
  if (own_not_finite_.empty()) return;
  // Also where it is finite: a row that was never published may have been there.
  const std::uint64_t bit = std::uint64_t{1} << (row % 64);
  const std::atomic_ref word(own_not_finite_[static_cast<std::size_t>(row / 64)]);
  if (row_is_finite(rows_.dtype(), values, rows_.cols())) {
    word.fetch_and(~bit, std::memory_order_relaxed);
  } else {
    word.fetch_or(bit, std::memory_order_relaxed);
  }
}

void Part::enter(std::int64_t row) {
  own_table_[id_slot(own_table_, ids_, own_ids_[row])] = static_cast<std::uint32_t>(row + 1);
  if (keys_) keys_->enter(row);
}

}  // namespace nearfield
