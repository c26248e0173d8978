// Rows that share a bucket with a query, or are in one near it: the filter of lsh.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <nearfield/metric.hpp>

#include "index/lsh/lsh_tables.hpp"
#include "search/row_finder.hpp"

namespace nearfield {

// Of the rows of a run, of that type.
class LshFinder final : public RowFinder {
 public:
  struct How {
    bool stays = false;  // a device that is asked keeps the run
    bool tiles = false;  // rows are compared by products of tiles, not pair by pair
  };

  LshFinder(std::shared_ptr<const LshRun> run, std::int64_t probes, MetricSpec metric, DType dtype,
            How how)
      : run_(std::move(run)),
        probes_(probes),
        metric_(metric),
        dtype_(dtype),
        stays_(how.stays),
        tiles_(how.tiles) {}

  std::unique_ptr<FilterMaker> make(DType queries, const Context& context) const override;
  void add_to(SearchShape& shape, const Context& context) const override;

 private:
  std::shared_ptr<const LshRun> run_;
  std::int64_t probes_;
  MetricSpec metric_;
  DType dtype_;
  bool stays_;
  bool tiles_;
};

}  // namespace nearfield
