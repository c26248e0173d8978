#include "filter/allowed_rows.hpp"

#include <algorithm>
#include <bit>

namespace nearfield {

AllowedRows AllowedRows::bitset(std::span<const std::uint64_t> words) {
  AllowedRows filter(Kind::bitset);
  filter.words_ = words;
  return filter;
}

AllowedRows AllowedRows::list(std::span<const std::int64_t> ids) {
  AllowedRows filter(Kind::list);
  filter.ids_.assign(ids.begin(), ids.end());
  std::sort(filter.ids_.begin(), filter.ids_.end());
  filter.ids_.erase(std::unique(filter.ids_.begin(), filter.ids_.end()), filter.ids_.end());
  return filter;
}

AllowedRows AllowedRows::without_self() && {
  exclude_self_ = true;
  return std::move(*this);
}

std::string AllowedRows::name() const {
  const std::string rows = kind_ == Kind::all      ? "all rows"
                           : kind_ == Kind::bitset ? "rows of a bitset"
                                                   : "rows of a list";
  return exclude_self_ ? rows + ", self excluded" : rows;
}

template <class Use>
void AllowedRows::for_each_allowed(Range rows, const Use& use) const {
  if (kind_ == Kind::all) {
    for (std::int64_t row = rows.begin; row < rows.end; ++row) use(row);
  } else if (kind_ == Kind::bitset) {
    for (std::int64_t row = rows.begin; row < rows.end;) {
      // The word from this row's bit on; a run of 64 forbidden rows costs one step.
      const std::uint64_t rest = words_[static_cast<std::size_t>(row / 64)] >> (row % 64);
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

void AllowedRows::survivors(const Block& block, std::span<const double> /*thresholds*/,
                            Candidates& out) const {
  const bool meets_self =
      exclude_self_ && block.queries.begin < block.rows.end && block.rows.begin < block.queries.end;
  if (kind_ == Kind::all && !meets_self) return out.start_dense(block);

  out.start_listed(block);
  for (std::int64_t query = block.queries.begin; query < block.queries.end; ++query) {
    const std::int64_t self = exclude_self_ ? query : -1;
    for_each_allowed(block.rows, [&](std::int64_t row) {
      if (row != self) out.add(row);
    });
    out.end_query();
  }
}

}  // namespace nearfield
