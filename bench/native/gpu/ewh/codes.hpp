// Codes of bits that error-weighted hashing is measured on.
#pragma once

#include <string>
#include <vector>

#include <nearfield/index.hpp>

#include "bench/native/gpu/measuring.hpp"

namespace nearfield::bench {

inline constexpr std::int64_t kCodeBits = 512;

struct Codes {
  Matrix rows;
  Matrix queries;
};

// 4,000,000 of bits-512 of bench/datasets, or fewer by the size; Size::tiny makes some up.
Codes read_codes(const std::string& folder, Size size);

IndexSpec index_of_codes(const std::string& family);

}  // namespace nearfield::bench
