// What of the thesis is measured here (seed: Richards 2022, chapter 5).
#pragma once

#include <string>

#include "bench/native/gpu/measuring.hpp"

namespace nearfield::bench {

// Of bench/datasets, with base.u8bin and queries.u8bin. Size::tiny needs none.
struct DataFolders {
  std::string sift;
  std::string frames;
};

void measure_batches_of_many_rows(Measuring& measuring);                // 5.2, with 5.3 and 5.4
void measure_batches_of_many_queries(Measuring& measuring);             // 5.5, with 5.6
void measure_batches_of_few(Measuring& measuring);                      // 5.7, with 5.8
void measure_padding(Measuring& measuring);                             // 5.9
void measure_queues_of_many_rows(Measuring& measuring);                 // 5.11
void measure_queues_of_many_queries(Measuring& measuring);              // 5.12
void measure_queues_of_few(Measuring& measuring);                       // 5.13
void measure_times(Measuring& measuring, const DataFolders& folders);   // Tables 5.11, 5.12; 5.20
void measure_frames(Measuring& measuring, const DataFolders& folders);  // section 5.4.7
void recall_of_sift(Measuring& measuring, const DataFolders& folders);  // Tables 5.1, 5.4 to 5.9
void recall_of_random(Measuring& measuring);                            // Table 5.10

}  // namespace nearfield::bench
