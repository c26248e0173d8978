// What chance says of error-weighted hashing: how buckets of rows differ that differ in so many
// bits, and which scores they reach.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace nearfield {

// The weights and the threshold of a search, and what its tables look at.
struct EwhShape {
  std::int64_t tables = 0;
  int bits = 0;                // of each table
  std::vector<int> weights{};  // of buckets that differ in 0, 1, ... bits; of others it is 0
  int threshold = 1;           // rows that reach it are verified

  int errors() const { return static_cast<int>(weights.size()) - 1; }
  int most_score() const { return static_cast<int>(tables) * weights.front(); }
};

// Of a table that looks at `bits` of `cols` bits, all choices being as likely: the chance that rows
// which differ in `differing` of all differ in exactly 0, 1, ... errors of these.
std::vector<double> error_chances(std::int64_t cols, std::int64_t differing, int bits, int errors);

// The chance that a row reaches each score from 0 to the shape's most_score, if a table gives its
// weights with these chances (the first of them, one a weight) and 0 else.
std::vector<double> score_chances(const EwhShape& shape, std::span<const double> of_a_table);

// The chance that a row which differs in so many bits is verified.
double chance_found(const EwhShape& shape, std::int64_t cols, std::int64_t differing);

// The same of 0, 1, ... cols bits.
std::vector<double> chances_found(const EwhShape& shape, std::int64_t cols);

}  // namespace nearfield
