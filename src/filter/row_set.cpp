#include "filter/row_set.hpp"

#include <algorithm>
#include <bit>

#include "core/checked.hpp"

namespace nearfield {
namespace {

// Ids between two looks at the clock: a few milliseconds.
constexpr std::int64_t kIdsPerCheck = 1 << 18;

}  // namespace

RowSet RowSet::bitset(std::span<const std::uint64_t> words) {
  RowSet set(Kind::bitset);
  set.words_ = words;
  return set;
}

RowSet RowSet::list(std::span<const std::int64_t> ids, std::int64_t rows, const Monitor& monitor) {
  RowSet set(Kind::list);
  const auto count = static_cast<std::int64_t>(ids.size());
  if (count > rows / 64) {
    // As many words as ids at the most, and no sorting.
    set.own_words_.resize(static_cast<std::size_t>(divide_up(rows, 64)));
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t id = ids[static_cast<std::size_t>(i)];
      set.own_words_[static_cast<std::size_t>(id / 64)] |= std::uint64_t{1} << (id % 64);
      if (i % kIdsPerCheck == 0) monitor.check();
    }
  } else {
    set.ids_.assign(ids.begin(), ids.end());
    std::sort(set.ids_.begin(), set.ids_.end());
    set.ids_.erase(std::unique(set.ids_.begin(), set.ids_.end()), set.ids_.end());
  }
  return set;
}

template <class Use>
void RowSet::for_each(Range rows, const Use& use) const {
  const std::span<const std::uint64_t> words = own_words_.empty() ? words_ : std::span(own_words_);
  if (kind_ == Kind::all) {
    for (std::int64_t row = rows.begin; row < rows.end; ++row) use(row);
  } else if (!words.empty()) {
    for (std::int64_t row = rows.begin; row < rows.end;) {
      // The word from this row's bit on; a run of 64 forbidden rows costs one step.
      const std::uint64_t rest = words[static_cast<std::size_t>(row / 64)] >> (row % 64);
      const std::int64_t next = rest != 0 ? row + std::countr_zero(rest) : (row / 64 + 1) * 64;
      if (rest != 0 && next < rows.end) use(next);
      row = rest != 0 ? next + 1 : next;
    }
  } else {
    const auto begin = std::lower_bound(ids_.begin(), ids_.end(), rows.begin);
    const auto end = std::lower_bound(begin, ids_.end(), rows.end);
    std::for_each(begin, end, use);
  }
}

bool RowSet::contains(std::int64_t row) const {
  bool found = false;
  for_each({row, row + 1}, [&](std::int64_t) { found = true; });
  return found;
}

bool RowSet::may_meet(std::int64_t query, std::int64_t row) const {
  return meets_ == Meets::every_row || (meets_ == Meets::other_rows ? row != query : row > query);
}

std::int64_t RowSet::pairs_in(const Block& block) const {
  if (meets_ != Meets::later_rows) return block.pairs();
  std::int64_t pairs = 0;
  for (std::int64_t query = block.queries.begin; query < block.queries.end; ++query) {
    pairs += std::max<std::int64_t>(block.rows.end - std::max(block.rows.begin, query + 1), 0);
  }
  return pairs;
}

void RowSet::restrict(Candidates& candidates) const {
  const Block block = candidates.block();
  const bool all_meet = meets_ == Meets::every_row || block.rows.begin >= block.queries.end ||
                        (meets_ == Meets::other_rows && block.rows.end <= block.queries.begin);
  if (kind_ == Kind::all && all_meet) return;

  if (!candidates.dense()) {
    candidates.keep_if([&](std::int64_t query, std::int64_t row) {
      return may_meet(query, row) && contains(row);
    });
    return;
  }
  candidates.start_listed(block);
  for (std::int64_t query = block.queries.begin; query < block.queries.end; ++query) {
    for_each(block.rows, [&](std::int64_t row) {
      if (may_meet(query, row)) candidates.add(row);
    });
    candidates.end_query();
  }
}

}  // namespace nearfield
