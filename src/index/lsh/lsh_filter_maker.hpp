// Filters of lsh on the CPU: what they have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "filter/filter_maker.hpp"
#include "index/lsh/lsh_places.hpp"

namespace nearfield {

// Calls use(row) for every row of every bucket of a query, some of them several times.
template <class Use>
void for_rows_met(const LshRun& run, const LshPlaces& places, std::int64_t query,
                  const Monitor& monitor, const Use& use) {
  constexpr std::int64_t kRowsBetweenChecks = 1 << 21;  // some milliseconds
  constexpr std::size_t kPlacesAhead = 8;
  std::int64_t unchecked = 0;
  for (std::int64_t i = 0; i < run.functions.tables; ++i) {
    const KeyTableView& table = run.tables[static_cast<std::size_t>(i)];
    const std::span<const KeyPlace> of_table = places.of(query, i);
    for (std::size_t j = 0; j < of_table.size(); ++j) {
      if (j + kPlacesAhead < of_table.size()) {
        __builtin_prefetch(table.rows().data() + of_table[j + kPlacesAhead].begin);
      }
      for (const std::uint32_t row : table.rows_of(of_table[j])) {
        table.buckets().check_row(row);
        use(row);
      }
      unchecked += of_table[j].count;
      if (unchecked < kRowsBetweenChecks) continue;
      monitor.check();
      unchecked = 0;
    }
  }
}

// Hashes queries and looks them up, batch by batch.
class LshFilterMaker : public FilterMaker {
 public:
  LshFilterMaker(const LshRun& run, std::int64_t probes, MetricSpec metric, Isa isa)
      : run_(run), probes_(probes), metric_(metric), isa_(isa) {}

  std::string note() const override {
    return fmt::format("hashed in {:.6f} s, looked up in {:.6f} s", hashing_seconds_,
                       lookup_seconds_);
  }

 protected:
  const LshPlaces& look_up(MatrixView queries, int threads, const Monitor& monitor) {
    places_.reset();
    places_.emplace(queries, run_, probes_, metric_, isa_, threads, monitor);
    hashing_seconds_ += places_->hashing_seconds();
    lookup_seconds_ += places_->lookup_seconds();
    return *places_;
  }

 private:
  const LshRun& run_;
  std::int64_t probes_;
  MetricSpec metric_;
  Isa isa_;
  std::optional<LshPlaces> places_;
  double hashing_seconds_ = 0;
  double lookup_seconds_ = 0;
};

}  // namespace nearfield
