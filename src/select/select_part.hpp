// The first k values of a row, or of a part of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <nearfield/matrix.hpp>
#include <nearfield/results.hpp>

#include "select/pace.hpp"
#include "select/value_kernels.hpp"

namespace nearfield {

inline constexpr std::int64_t kNeighborBytes = sizeof(Neighbor);

// A part of one row.
struct Part {
  const std::byte* values;
  const std::int64_t* ids;  // null: `first` and up
  std::int64_t first;       // column
  std::int64_t count;

  std::int64_t id(std::int64_t i) const { return ids != nullptr ? ids[i] : first + i; }
};

// What all parts of a call have in common.
struct PartShape {
  DType dtype;  // f32 or f64
  bool largest;
  bool has_ids;
  std::int64_t k;      // at least 1
  std::int64_t count;  // values of a part at most
};

// k that are few among many are filtered: a running threshold drops groups of values. Where they
// are many, the exact threshold is found first.
bool filters(const PartShape& shape);

// What selecting from one part allocates at most.
struct PartBytes {
  std::int64_t found;    // until what was found is released
  std::int64_t working;  // until the selector is
};
PartBytes part_bytes(const PartShape& shape);

// For one thread at a time.
class PartSelector {
 public:
  virtual ~PartSelector() = default;

  // The first k of a part and perhaps others, in any order.
  virtual std::vector<Neighbor> select(const Part& part, Pace& pace) = 0;
};

std::unique_ptr<PartSelector> make_part_selector(const PartShape& shape,
                                                 const SelectKernels& kernels);

}  // namespace nearfield
