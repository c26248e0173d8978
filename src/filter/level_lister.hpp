// Rows by their levels, where something else than the CPU has them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "filter/bound_filter.hpp"

namespace nearfield {

inline constexpr std::int64_t kLevelCount = kMostLevel + 1;

struct LevelRequest {
  std::int64_t query;
  int low;
  int high;
  double most_key;             // rows with keys above it are of no use
  std::int64_t first_row = 0;  // nor are those before it
};

// The rows of some requests, one after the other, of each rising.
struct LevelList {
  std::span<const LevelRequest> requests;
  std::span<const std::uint32_t> starts;  // of each request, and where the last ends
  std::span<const std::uint32_t> rows;
  std::span<const std::uint8_t> levels;  // of each row; none where keys are known
  // Of each row, no order among those of a request: what is above most_key is left out.
  std::span<const double> keys;
  std::int64_t computed = 0;  // keys, those that are left out among them

  std::span<const std::uint32_t> rows_of(std::size_t request) const {
    return rows.subspan(starts[request], starts[request + 1] - starts[request]);
  }
};

// What most_key of a request becomes as its rows are taken, where it falls.
struct FallingKeys {
  std::int64_t first_rows;  // so many may be enough to make it fall
  std::function<double(std::int64_t query)> most_key;
};

// Asked by one thread.
class LevelLister {
 public:
  using Take = std::function<void(const LevelList& list)>;

  virtual ~LevelLister() = default;

  virtual std::int64_t most_queries() const = 0;  // at a time
  // Whether it computes keys itself, so that nobody need verify them.
  virtual bool keyed() const = 0;

  // What follows is about these.
  virtual void start(Range queries) = 0;
  // How many rows each of them has of each level: kLevelCount for a query.
  virtual void count(std::span<std::uint32_t> counts) = 0;
  // Calls take once or more often; what it is given is valid until it returns. The rows of a
  // request come at once, but where keys are known: then some may come at a time, and later ones
  // are left out by what most_key is by then. falling: null where it does not.
  virtual void list(std::span<const LevelRequest> requests, const FallingKeys* falling,
                    const Take& take) = 0;
};

}  // namespace nearfield
