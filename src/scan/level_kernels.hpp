// Which rows have levels of a range.
#pragma once

#include <cstdint>

#include <nearfield/isa.hpp>

namespace nearfield {

struct LevelKernels {
  // Writes the numbers of those from `low` to `high`, rising, and returns how many. Room for all.
  std::int64_t (*find)(const std::uint8_t* levels, std::int64_t count, std::uint8_t low,
                       std::uint8_t high, std::uint32_t* rows);
};

// Of an ISA that is available here.
const LevelKernels& level_kernels(Isa isa);

}  // namespace nearfield
