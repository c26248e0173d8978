// What an index keeps of objects to bound their distances by: pivots, signatures, or both.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nearfield/metric_index.hpp>
#include <nearfield/object_metric.hpp>

#include "core/monitor.hpp"
#include "filter/bound_filter.hpp"
#include "index/pivot/pivot_table.hpp"

namespace nearfield {

// Whether the caller says how pivots are kept or chosen, which takes some.
bool says_of_pivots(const PivotOptions& options);

class ObjectFilter {
 public:
  // Pivots, where the metric has no signatures and the caller says nothing.
  static constexpr std::int64_t kUsualPool = 16;
  // How many there are of enough objects: none where there are signatures, unless the caller says
  // anything about pivots.
  static std::int64_t pool_of(const PivotOptions& options, bool signatures);

  // Of no objects, and without pivots or signatures.
  explicit ObjectFilter(const ObjectMetric& metric);
  // As a file has it; each may be left out.
  ObjectFilter(const ObjectMetric& metric, PivotScale scale, std::optional<PivotTable> pivots,
               std::shared_ptr<const ObjectSignatures> signatures, RowBlocks signature_rows);

  // Chosen from the rows of `objects` that are listed, and then made of all rows. The monitor hears
  // of each.
  static ObjectFilter made(const ObjectMetric& metric, const ObjectList& objects,
                           std::span<const std::int64_t> rows, const PivotOptions& options,
                           const Context& context, Monitor& monitor, std::int64_t& distances);

  // The objects from the number of its rows on.
  void append(const ObjectList& objects, const Context& context, Monitor& monitor);
  void truncate(std::int64_t rows);
  std::int64_t rows() const { return rows_; }
  std::int64_t pivots() const { return pivots_ ? pivots_->pivots().size() : 0; }

  const PivotScale& scale() const { return scale_; }
  const std::optional<PivotTable>& table() const { return pivots_; }
  const ObjectSignatures* signatures() const { return signatures_.get(); }
  const RowBlocks& signature_rows() const { return signature_rows_; }
  std::int64_t bytes() const;
  // Of so many rows.
  std::int64_t bytes_for(std::int64_t rows) const;
  std::string name() const;

  // The same without some of its rows.
  ObjectFilter picked(std::span<const std::int64_t> rows) const;

 private:
  friend class ObjectBounds;

  void append_signatures(const ObjectList& objects, int threads, Monitor& monitor);

  const ObjectMetric* metric_;
  PivotScale scale_;
  std::optional<PivotTable> pivots_;
  std::shared_ptr<const ObjectSignatures> signatures_;
  RowBlocks signature_rows_;
  std::int64_t rows_ = 0;
};

// For some queries.
class ObjectBounds final : public BoundFilter {
 public:
  // Looks at the filter. Computes the distances of these of the queries to all pivots. `slots`:
  // pivots looked at, of those an object keeps.
  ObjectBounds(const ObjectFilter& filter, std::span<const ObjectView> queries, Range these,
               std::optional<std::int64_t> slots, Isa isa, int threads, const Monitor& monitor);

  // For so many queries.
  static std::int64_t bytes(const ObjectFilter& filter, std::int64_t queries);

  void levels(Range queries, Range rows, std::uint8_t* out, std::int64_t stride) const override;
  double least_key(int level) const override { return filter_.scale_.least_distance(level); }
  int highest_level(double key) const override { return filter_.scale_.highest_level(key); }
  // By the triangle inequality, over the pivots that are looked at.
  bool surely_within(std::int64_t query, std::int64_t row, double key) const override;
  std::string name() const override { return filter_.name(); }

  std::int64_t distances() const { return distances_; }

  // What the queries are asked by, from this one on: none where there are no pivots to look at, or
  // no signatures.
  std::int64_t first_query() const { return first_; }
  std::int64_t slots() const { return slots_; }
  std::span<const PivotReach> reaches() const { return reaches_; }
  std::span<const std::byte> signatures() const { return signatures_; }

 private:
  const ObjectFilter& filter_;
  std::int64_t first_;  // of the queries
  std::int64_t slots_;
  Isa isa_;
  const BoundKernels& kernels_;
  std::vector<PivotReach> reaches_;
  std::vector<std::byte> signatures_;
  std::int64_t distances_ = 0;
};

}  // namespace nearfield
