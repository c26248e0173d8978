// Numbers of a metric in its name: files are opened under the metric of the same name.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace nearfield {

inline std::string hash_of_numbers(std::span<const double> numbers) {
  return fmt::format("{:016x}", std::uint64_t{XXH3_64bits(numbers.data(), numbers.size_bytes())});
}

}  // namespace nearfield
