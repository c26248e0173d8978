// The lines of JSON that bench/reproduce reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nearfield::bench {

// Where something was timed. Numbers that play no part are 0.
struct LshPlace {
  std::int64_t queries = 0;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t k = 0;
  std::int64_t bits = 0;
  std::int64_t tables = 0;
  std::int64_t asked = 0;  // recall, in percent
};

// seconds: of each round.
void print_times(const std::string& figure, const std::string& series, const LshPlace& place,
                 const std::vector<double>& seconds);

void print_recall(const std::string& figure, const std::string& data, const std::string& series,
                  double recall);

}  // namespace nearfield::bench
