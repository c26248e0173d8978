// What "ewh" may be told: "ewh", "ewh,near=31", "ewh,tables=4,bits=4,errors=2,weights=3:2:1".
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <nearfield/index.hpp>

namespace nearfield {

inline constexpr std::int64_t kMostEwhTables = 64;
inline constexpr int kMostEwhBits = 24;  // of a table: its starts take 64 MiB
inline constexpr int kMostEwhErrors = 4;
// Scores are bytes: on every device four of them are a word that is added to at once.
inline constexpr int kMostEwhScore = 255;

struct EwhParameters {
  std::optional<std::int64_t> tables = {};
  std::optional<int> bits = {};   // of a table
  int errors = 2;                 // buckets that differ in up to so many bits count
  std::vector<int> weights = {};  // of 0, 1, ... errors; empty: by what they tell
  std::optional<int> threshold = {};
  std::int64_t seed = 0;
  // Rows that differ from a query in so many bits are to be found with this chance: what is not
  // given above follows from it.
  std::int64_t near = 1;
  double recall = 0.9;
};

// Throws invalid_argument for what ewh does not have, and for vectors it cannot hash.
EwhParameters parse_ewh(const IndexSpec& spec);

}  // namespace nearfield
