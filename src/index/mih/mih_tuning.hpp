// What lookups and scans are taken to cost.
#pragma once

#include <cstdint>

namespace nearfield {

// Nanoseconds of a thread, measured on two cores of a 5th-generation Xeon: 1,000 queries of
// 10,000,000 x 256 random bits, within 31 of them, took 384 us each for 2,794 buckets with 3,338
// rows, nearly all of it waiting for memory; to scan them 46 ms for one query, 4 ms each for 1,000.
// What a query, a call and tables in a cache take is guessed: see tests/show/time_auto_index.cpp.
struct MihTuning {
  double query = 1'000;   // that is looked up in a run
  double lookup = 60;     // of a bucket
  double candidate = 60;  // of a row in it
  // Of both, where tables are in a cache of a core: 5,000 codes. In between, in proportion.
  double cached = 0.2;
  double cached_bytes = 1 << 20;
  double memory_bytes = 64 << 20;
  double scan_call = 20'000;  // of a scan, for all its queries
  double read_byte = 0.13;    // of a scan by one query: the rows come from memory
  double pair_byte = 0.012;   // of one of many queries
  std::int64_t sharing_queries = 8;
};

// What searches use. Tests change it while there are none.
inline MihTuning& mih_tuning() {
  static MihTuning tuning;
  return tuning;
}

}  // namespace nearfield
