// Distances of objects, as the loop in scan/ asks for them.
#pragma once

#include <cstdint>
#include <span>

#include <nearfield/object_metric.hpp>

#include "object/object_list.hpp"
#include "scan/verifier.hpp"

namespace nearfield {

// A metric is asked for so many at once: as many as a block of a search has. What watches a call is
// asked before each time.
inline constexpr std::int64_t kDistancesAtOnce = 256;

// Throws invalid_argument for what is no distance: NaN, infinite or negative. -0 becomes 0.
void settle_distances(const ObjectMetric& metric, double limit, std::span<double> distances);

// The distances themselves, piece by piece, settled.
void all_distances(const ObjectMetric& metric, ObjectView from, std::span<const ObjectView> to,
                   Isa isa, std::span<double> out, const Monitor& monitor);

class ObjectVerifier final : public Verifier {
 public:
  // Looks at all of them.
  ObjectVerifier(const ObjectMetric& metric, std::span<const ObjectView> queries,
                 const ObjectList& rows, Isa isa)
      : metric_(metric), queries_(queries), rows_(rows), isa_(isa) {}

  void keys(const Candidates& candidates, std::span<const double> thresholds, std::span<double> out,
            const Monitor& monitor) const override;

 private:
  const ObjectMetric& metric_;
  std::span<const ObjectView> queries_;
  const ObjectList& rows_;
  Isa isa_;
};

}  // namespace nearfield
