#pragma once

#include "index/ewh/ewh_tuning.hpp"
#include "index/mih/mih_tuning.hpp"
#include "index/tuning.hpp"

namespace nearfield::test {

// As long as it is there, an index of few rows has several parts, packed and not: those of the
// default hold thousands. What has tables is looked up in them, however few rows a scan
// would take, and rows are scored by the lists of their buckets.
class SmallParts {
 public:
  SmallParts() {
    index_tuning() = {
        .most_copied_bytes = 8 << 10, .least_part_bytes = 256, .least_packed_rows = 64};
    mih_tuning().lookup = 0;
    mih_tuning().candidate = 0;
    ewh_tuning().most_scored_bits = 0;
    mih_tuning().query = 0;
  }
  SmallParts(const SmallParts&) = delete;
  SmallParts& operator=(const SmallParts&) = delete;
  ~SmallParts() {
    index_tuning() = IndexTuning();
    mih_tuning() = MihTuning();
    ewh_tuning() = EwhTuning();
  }
};

}  // namespace nearfield::test
