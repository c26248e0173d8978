// A tuning table as JSON. It may come from anyone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "device/tuning_table.hpp"

namespace nearfield {

// What is read at most. `nearfield tune` writes some 120 points of 11 candidates and 3 rounds, 60
// KB.
inline constexpr std::int64_t kMostTuningBytes = std::int64_t{4} << 20;
inline constexpr std::size_t kMostTuningPoints = 4096;    // of a list
inline constexpr std::size_t kMostTuningCandidates = 64;  // of a point
inline constexpr std::size_t kMostTuningRounds = 64;      // of a candidate
inline constexpr std::size_t kMostTuningText = 1024;      // bytes of a name

// Throws corrupt_file, naming the path, unless it is exactly a table: nothing missing, doubled or
// unknown, counts of at least 1, seconds above 0.
TuningTable parse_tuning(const std::string& path, std::string_view json);

// As parse_tuning reads it, a point a line.
std::string format_tuning(const TuningTable& table);

// Throws io where it cannot be read.
TuningTable read_tuning_file(const std::string& path);

}  // namespace nearfield
