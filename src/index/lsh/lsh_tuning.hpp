// What a query by hashes is taken to cost.
#pragma once

#include <cstdint>

namespace nearfield {

// Nanoseconds of a thread: estimates, which have not been fitted to measurements. They weigh
// candidates against each other; what is found does not hang on them.
struct LshTuning {
  double projected_value = 0.25;  // of a query and a direction
  double probe = 110;             // to find its key and its bucket
  double met = 4;                 // of a row in a bucket
  double candidate = 40;          // of a row that is verified, mostly waiting for memory
  double candidate_byte = 0.1;    // of its values
};

inline constexpr LshTuning kLshTuning;

}  // namespace nearfield
