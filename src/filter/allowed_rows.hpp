// The filter of an exhaustive search: every row the caller allows, whatever its distance.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "filter/filter.hpp"

namespace nearfield {

class AllowedRows final : public Filter {
 public:
  // All rows of the base.
  static AllowedRows all() { return AllowedRows(Kind::all); }

  // Rows whose bit is set. Looks at the caller's words, one for each 64 rows.
  static AllowedRows bitset(std::span<const std::uint64_t> words);

  // Rows in the list, in any order, repeated or not.
  static AllowedRows list(std::span<const std::int64_t> ids);

  // Drops row i for query i.
  AllowedRows without_self() &&;

  void survivors(const Block& block, std::span<const double> thresholds,
                 Candidates& out) const override;
  bool certified() const override { return true; }
  std::string name() const override;

 private:
  enum class Kind { all, bitset, list };

  explicit AllowedRows(Kind kind) : kind_(kind) {}

  // Calls use(row) for each allowed row of the range, rising.
  template <class Use>
  void for_each_allowed(Range rows, const Use& use) const;

  Kind kind_;
  bool exclude_self_ = false;
  std::span<const std::uint64_t> words_;
  std::vector<std::int64_t> ids_;  // sorted, each once
};

}  // namespace nearfield
