// Rows that share a bucket with a query, or are in one near it: the filter of lsh.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <nearfield/metric.hpp>

#include "index/lsh/lsh_tables.hpp"
#include "search/row_finder.hpp"

namespace nearfield {

// Of the rows of a run. stays: whether a device that is asked keeps it.
class LshFinder final : public RowFinder {
 public:
  LshFinder(std::shared_ptr<const LshRun> run, std::int64_t probes, MetricSpec metric, bool stays)
      : run_(std::move(run)), probes_(probes), metric_(metric), stays_(stays) {}

  std::unique_ptr<FilterMaker> make(DType queries, const Context& context) const override;
  void add_to(SearchShape& shape, const Context& context) const override;

 private:
  std::shared_ptr<const LshRun> run_;
  std::int64_t probes_;
  MetricSpec metric_;
  bool stays_;
};

}  // namespace nearfield
