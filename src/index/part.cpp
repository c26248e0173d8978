#include "index/part.hpp"

#include <atomic>
#include <cstring>
#include <utility>

#include "core/checked.hpp"
#include "core/decode.hpp"
#include "core/fail.hpp"
#include "filter/rounded/tile_kernel.hpp"
#include "search/tiled_rows.hpp"

namespace nearfield {

bool has_not_finite(DType dtype) {
  return dtype == DType::f64 || dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

namespace {

std::int64_t bytes_of_rows(const IndexSpec& spec, std::int64_t capacity, bool vectors) {
  if (!vectors || keeps_tiles_alone(spec)) return 0;
  return checked_mul(capacity, row_bytes(spec.dtype, spec.cols), "bytes of the rows");
}

}  // namespace

Part::Part(const IndexSpec& spec, std::int64_t capacity, bool vectors)
    : capacity_(capacity),
      has_vectors_(vectors),
      own_rows_(bytes_of_rows(spec, capacity, vectors)),
      own_ids_(capacity),
      own_table_(static_cast<std::size_t>(id_table_size(capacity))),
      own_not_finite_(has_not_finite(spec.dtype) ? words_of_rows(capacity) : 0),
      ids_(own_ids_.data(), static_cast<std::size_t>(capacity)),
      table_(own_table_) {
  if (keeps_tiles_alone(spec)) {
    tiles_.emplace(packed_bytes(spec, capacity));
  } else {
    rows_ = MatrixView(own_rows_.data(), spec.dtype, vectors ? capacity : 0, spec.cols);
  }
  if (spec.keys) keys_.emplace(capacity);
}

std::int64_t Part::bytes_for(const IndexSpec& spec, std::int64_t capacity, bool vectors) {
  const std::int64_t not_finite = has_not_finite(spec.dtype) ? 8 * divide_up(capacity, 64) : 0;
  const std::int64_t rows = keeps_tiles_alone(spec) ? PackedBytes::bytes_for(spec.cols, capacity)
                                                    : bytes_of_rows(spec, capacity, vectors);
  return rows + 8 * capacity + 4 * id_table_size(capacity) + not_finite +
         (spec.keys ? KeyColumn::bytes_for(capacity) : 0);
}

Part::Part(Stored stored)
    : capacity_(stored.count),
      has_vectors_(stored.vectors),
      numbered_(stored.numbered),
      file_(std::move(stored.file)),
      stored_(std::move(stored.packed)),
      ids_(stored.ids),
      table_(stored.table),
      not_finite_(stored.not_finite) {
  if (stored_ && stored_->rounding.lossless) {
    tiles_.emplace(stored_->rounding, capacity(), stored_->tensors);
  } else {
    rows_ = stored.rows;
  }
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
  std::call_once(packed_once_, [&] { packed_ = packed_of_file(*stored_, capacity()); });
  return packed_;
}

std::int64_t Part::bytes() const {
  const std::int64_t own_tiles =
      tiles_ && !stored_ ? PackedBytes::bytes_for(tiles_->cols(), capacity()) : 0;
  return own_tiles + rows_.rows() * rows_.stride_bytes() +
         static_cast<std::int64_t>(ids_.size_bytes()) +
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
  if (numbered_) return id >= 0 && id < capacity_ ? std::optional(id) : std::nullopt;
  return of_file([&] { return find_row(table_, ids_, id); });
}

std::optional<std::int64_t> Part::find(std::string_view key) const {
  return of_file([&] { return keys_->find(key); });
}

std::string_view Part::key(std::int64_t row) const {
  return of_file([&] { return keys_->key(row); });
}

MatrixView Part::rows(std::int64_t count) const {
  if (!has_vectors_ && count > 0) fail_without_values(capacity());
  return rows_.slice(0, count);
}

void Part::read(std::int64_t first, std::int64_t count, Matrix& into, std::int64_t at) const {
  if (!has_vectors_) fail_without_values(capacity());
  if (!tiles_) {
    const std::int64_t bytes = count * rows_.stride_bytes();
    if (bytes > 0) std::memcpy(into.row(at), rows_.row(first), static_cast<std::size_t>(bytes));
    return;
  }
  if (count > 0) tiles_->take(first, count, into.row(at));
}

SharedPacked PartView::packed_for(MetricSpec metric, Isa isa) const {
  const SharedPacked made = packed != nullptr ? packed : part->stored_packed();
  if (made != nullptr && made->isa == isa) return made;
  const PackedBytes* const tiles = part->tiles();
  if (tiles == nullptr || !tiles->serves(tile_kernel(isa).form)) return nullptr;
  const std::int64_t rows = tiles->searchable(count);
  return rows > 0 ? packed_first(*tiles, metric, rows, isa) : nullptr;
}

std::shared_ptr<const RowSource> rows_of(const std::shared_ptr<const PartView>& view) {
  const auto keeping = [&](auto rows) {
    using Rows = decltype(rows);
    struct Kept {
      std::shared_ptr<const PartView> view;
      Rows rows;
    };
    const auto kept = std::make_shared<const Kept>(Kept{view, std::move(rows)});
    return std::shared_ptr<const RowSource>(kept, &kept->rows);
  };
  if (!view->part->has_vectors()) {
    const MatrixView none = view->part->rows(0);
    return keeping(RowsWithoutValues(none.dtype(), view->count, none.cols()));
  }
  const PackedBytes* const tiles = view->part->tiles();
  if (tiles == nullptr) return keeping(MatrixRows(view->rows()));
  return keeping(TiledRows(*tiles, {0, view->count}, nullptr));
}

void Part::put(std::int64_t row, const std::byte* values, std::int64_t id, std::string_view key) {
  if (tiles_) {
    tiles_->put(row, values);
  } else if (has_vectors_) {
    const std::int64_t bytes = rows_.stride_bytes();
    std::memcpy(own_rows_.data() + row * bytes, values, static_cast<std::size_t>(bytes));
  }
  const bool finite = own_not_finite_.empty() || row_is_finite(rows_.dtype(), values, rows_.cols());
  put_finite(row, finite, id, key);
}

void Part::put_finite(std::int64_t row, bool finite, std::int64_t id, std::string_view key) {
  own_ids_[row] = id;
  if (keys_) keys_->put(row, key);
  if (own_not_finite_.empty()) return;
  // Also where it is finite: a row that was never published may have been there.
  const std::uint64_t bit = std::uint64_t{1} << (row % 64);
  const std::atomic_ref word(own_not_finite_[static_cast<std::size_t>(row / 64)]);
  if (finite) {
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
