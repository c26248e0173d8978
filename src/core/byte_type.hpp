#pragma once

#include <nearfield/matrix.hpp>

namespace nearfield {

// Whether a value is an integer of a byte.
inline bool is_byte(DType dtype) { return dtype == DType::u8 || dtype == DType::i8; }

}  // namespace nearfield
