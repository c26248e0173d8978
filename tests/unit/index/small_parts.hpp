#pragma once

#include "index/tuning.hpp"

namespace nearfield::test {

// As long as it is there, an index of few rows has several parts, packed and not: those of the
// default hold thousands.
class SmallParts {
 public:
  SmallParts() {
    index_tuning() = {
        .most_copied_bytes = 8 << 10, .least_part_bytes = 256, .least_packed_rows = 64};
  }
  SmallParts(const SmallParts&) = delete;
  SmallParts& operator=(const SmallParts&) = delete;
  ~SmallParts() { index_tuning() = IndexTuning(); }
};

}  // namespace nearfield::test
