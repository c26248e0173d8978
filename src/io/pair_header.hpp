// The header of big-ann's files: two uint32.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "io/file.hpp"

namespace nearfield {

inline constexpr std::int64_t kPairHeaderBytes = 8;
inline constexpr std::int64_t kMostInPair = std::numeric_limits<std::uint32_t>::max();

struct PairHeader {
  std::int64_t first;
  std::int64_t second;
};

// `fields` names them where the file is too short.
PairHeader read_pair_header(const InputFile& file, std::string_view fields);

// Its bytes. Both are between 0 and kMostInPair.
std::string pair_header(std::int64_t first, std::int64_t second);

}  // namespace nearfield
