// A filter that says of every row how near it can be at most.
#pragma once

#include <cstdint>
#include <string>

#include "filter/filter.hpp"

namespace nearfield {

// Levels: from this many on a row counts as one, however far it is.
inline constexpr int kMostLevel = 255;

// Where Filter drops rows by a threshold, this orders them, so that a search can begin with those
// that may be nearest. What it says is proven.
class BoundFilter {
 public:
  virtual ~BoundFilter() = default;

  // Of the i-th query of the range, a level for each of its rows at out + i * stride. The range of
  // rows begins at a multiple of kBoundBlock. Called from many threads.
  virtual void levels(Range queries, Range rows, std::uint8_t* out, std::int64_t stride) const = 0;

  // Rows of this level have keys of at least that.
  virtual double least_key(int level) const = 0;

  // A row of a higher level has a key above this one. -1: every row has.
  virtual int highest_level(double key) const = 0;

  // Whether the row's key is proven to be at most this one.
  virtual bool surely_within(std::int64_t /*query*/, std::int64_t /*row*/, double /*key*/) const {
    return false;
  }

  virtual std::string name() const = 0;
};

// Rows that are kept together, so that one instruction looks at all of them.
inline constexpr std::int64_t kBoundBlock = 64;

}  // namespace nearfield
