#pragma once

#include <limits>

namespace nearfield {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr float kFloatInfinity = std::numeric_limits<float>::infinity();

}  // namespace nearfield
