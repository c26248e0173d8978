// What scoring and verifying are taken to cost.
#pragma once

#include "hash/score_kernel.hpp"

namespace nearfield {

// Nanoseconds of a thread: estimates, from one run of 64 queries of 4,000,000 x 512 random bits on
// two cores of a 5th-generation Xeon that had other work. 8 tables of 8 bits took 1.1 ms each; 4 of
// 4 bits 2.7 ms, 42,770 rows being verified; 6 of 12 bits 1.4 ms for 462,775 rows in lists; 4 of 20
// bits 0.07 ms for 844 buckets with 3,214 rows. What a query takes beside these is guessed, and
// decides for some thousands of rows: see tests/show/time_auto_index.cpp.
struct EwhTuning {
  double query = 3'000;                    // that is scored in a run
  double lookup = 60;                      // of a bucket
  double touch = 3;                        // of a row in a bucket
  double score = 0.035;                    // of a row and a table, where a kernel scores every row
  int most_scored_bits = kMostScoredBits;  // of a table: beyond, lists are shorter
  double verify = 40;                      // of a row on the short list
};

// What searches use. Tests change it while there are none.
inline EwhTuning& ewh_tuning() {
  static EwhTuning tuning;
  return tuning;
}

}  // namespace nearfield
