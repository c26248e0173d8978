// Rows that were chosen for each query, to be decided by their true keys.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "search/row_finder.hpp"

namespace nearfield {

// Of one part, query by query.
class ChosenRows {
 public:
  // Rows of the next query, in any order.
  void add(std::vector<std::uint32_t> rows);

  std::span<const std::uint32_t> of(std::int64_t query) const;  // rising
  std::int64_t most_of_a_query() const { return most_; }

 private:
  std::vector<std::uint32_t> rows_;
  std::vector<std::size_t> ends_;
  std::int64_t most_ = 0;
};

class ChosenFinder final : public RowFinder {
 public:
  // rows: of the part.
  ChosenFinder(ChosenRows chosen, std::int64_t rows) : chosen_(std::move(chosen)), rows_(rows) {}

  std::unique_ptr<FilterMaker> make(DType queries, const Context& context) const override;
  void add_to(SearchShape& shape, const Context& context) const override;

 private:
  ChosenRows chosen_;
  std::int64_t rows_;
};

}  // namespace nearfield
