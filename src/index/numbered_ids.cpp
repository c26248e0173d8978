#include "index/numbered_ids.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "index/id_table.hpp"
#include "index/index_format.hpp"

namespace nearfield {

// What goes past the end begins the table, and may push others past it: until it is the same.
NumberedIds::NumberedIds(std::int64_t rows, std::int64_t slots_at_once, const Monitor& monitor)
    : rows_(rows), slots_at_once_(slots_at_once), monitor_(monitor) {
  const TakeBytes nobody = [](std::span<const std::byte>) {};
  for (;;) {
    Entries past = give_table(past_the_end_, nobody);
    if (past == past_the_end_) return;
    past_the_end_ = std::move(past);
  }
}

void NumberedIds::add_to(std::vector<TensorToWrite>& tensors) const {
  tensors.push_back({index_format::kIds, TensorType::i64, {rows_}, [this](const TakeBytes& take) {
                       give_ids(take);
                     }});
  tensors.push_back({index_format::kIdTable,
                     TensorType::u32,
                     {id_table_size(rows_)},
                     [this](const TakeBytes& take) { give_table(past_the_end_, take); }});
}

void NumberedIds::give_ids(const TakeBytes& take) const {
  std::vector<std::int64_t> ids;
  for (std::int64_t first = 0; first < rows_; first += kIdsAtOnce) {
    monitor_.check();
    ids.resize(static_cast<std::size_t>(std::min(kIdsAtOnce, rows_ - first)));
    std::iota(ids.begin(), ids.end(), first);
    take(std::as_bytes(std::span(ids)));
  }
}

// Range by range of its slots: all rows are looked at for each, and those whose first slot is in it
// go there or, where it is full behind that, to the beginning of the next range before its own. So
// every slot from the first of a row to its own is taken, as id_slot looks for it.
NumberedIds::Entries NumberedIds::give_table(const Entries& past_the_end,
                                             const TakeBytes& take) const {
  const std::int64_t slots = id_table_size(rows_);
  const auto mask = static_cast<std::uint64_t>(slots - 1);
  const std::int64_t at_once = std::min(slots_at_once_, slots);
  Entries table(static_cast<std::size_t>(at_once));
  Entries carried = past_the_end;
  for (std::int64_t begin = 0; begin < slots; begin += at_once) {
    const auto size = static_cast<std::size_t>(std::min(at_once, slots - begin));
    std::fill(table.begin(), table.end(), 0);
    Entries next;
    const auto put = [&](std::size_t slot, std::uint32_t entry) {
      while (slot < size && table[slot] != 0) ++slot;
      if (slot < size) {
        table[slot] = entry;
      } else {
        next.push_back(entry);
      }
    };
    for (const std::uint32_t entry : carried) put(0, entry);
    for (std::int64_t row = 0; row < rows_; ++row) {
      if (row % kIdsAtOnce == 0) monitor_.check();
      const std::uint64_t first = (id_hash(row) & mask) - static_cast<std::uint64_t>(begin);
      if (first < size) put(first, static_cast<std::uint32_t>(row + 1));
    }
    take(std::as_bytes(std::span(table).first(size)));
    carried = std::move(next);
  }
  return carried;
}

}  // namespace nearfield
