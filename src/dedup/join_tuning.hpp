// What comparing codes bucket against bucket is taken to cost.
#pragma once

#include <cstdint>

namespace nearfield {

// Nanoseconds of a thread, estimated: of 10,000,000 codes of 256 bits 100 s together, of which 142
// were taken on two cores of a 4th-generation Xeon.
struct JoinTuning {
  double pair = 0.06;        // of codes
  double pair_word = 0.035;  // and of each of their words of 32 bits
  double question = 10;      // a code that is compared with a bucket
  double bucket = 2;         // that is looked at
  double row = 60;           // in a table: hashed, sorted, copied
  double planning = 20e6;    // what takes no longer need not be planned
  std::int64_t crowded = 4;  // pieces of a bucket that is sorted by group
  std::int64_t group = 128;  // rows of a piece that is looked at for being one
};

// What calls use. Tests change it while there are none.
inline JoinTuning& join_tuning() {
  static JoinTuning tuning;
  return tuning;
}

}  // namespace nearfield
