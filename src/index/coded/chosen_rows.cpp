#include "index/coded/chosen_rows.hpp"

#include <algorithm>
#include <string>

namespace nearfield {
namespace {

class ChosenFilter final : public Filter {
 public:
  explicit ChosenFilter(const ChosenRows& chosen) : chosen_(chosen) {}

  void survivors(const Block& block, std::span<const double> /*thresholds*/,
                 Candidates& out) const override {
    out.start_listed(block, block.queries.size() * chosen_.most_of_a_query());
    for (std::int64_t query = block.queries.begin; query < block.queries.end; ++query) {
      const std::span<const std::uint32_t> rows = chosen_.of(query);
      for (auto row = std::ranges::lower_bound(rows, block.rows.begin);
           row != rows.end() && *row < block.rows.end; ++row) {
        out.add(*row);
      }
      out.end_query();
    }
  }

  bool certified() const override { return false; }
  std::string name() const override { return "rows chosen by their codes"; }

 private:
  const ChosenRows& chosen_;
};

class ChosenFilterMaker final : public FilterMaker {
 public:
  explicit ChosenFilterMaker(const ChosenRows& chosen) : filter_(chosen) {}

  void take_queries(const Piece& /*queries*/, const Piece& /*rows*/, int /*threads*/,
                    Monitor& /*monitor*/) override {}
  TakenRows take_rows(const Piece& rows, int /*threads*/, Monitor& /*monitor*/) override {
    return {filter_, rows.view.rows()};
  }
  std::string name() const override { return filter_.name(); }

 private:
  ChosenFilter filter_;
};

}  // namespace

void ChosenRows::add(std::vector<std::uint32_t> rows) {
  std::ranges::sort(rows);
  rows_.insert(rows_.end(), rows.begin(), rows.end());
  ends_.push_back(rows_.size());
  most_ = std::max(most_, std::ssize(rows));
}

std::span<const std::uint32_t> ChosenRows::of(std::int64_t query) const {
  const auto i = static_cast<std::size_t>(query);
  const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
  return std::span(rows_).subspan(begin, ends_[i] - begin);
}

std::unique_ptr<FilterMaker> ChosenFinder::make(DType /*queries*/,
                                                const Context& /*context*/) const {
  return std::make_unique<ChosenFilterMaker>(chosen_);
}

// One query at a time, and all rows at once.
void ChosenFinder::add_to(SearchShape& shape, const Context& /*context*/) const {
  const std::int64_t most = std::max<std::int64_t>(chosen_.most_of_a_query(), 1);
  shape.value_cost *= static_cast<double>(most) / static_cast<double>(std::max(rows_, most));
  shape.tiles = TileShape{.most_rows = rows_,
                          .most_pairs = rows_,
                          .most_listed = most,
                          .listed_bytes = 16,  // with a copy of its row
                          .first_rows = rows_,
                          .most_row_parts = 1};
}

}  // namespace nearfield
