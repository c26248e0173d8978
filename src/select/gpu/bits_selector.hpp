// Buffered bitonic selection, in as many parts as are asked for.
#pragma once

#include "select/gpu/selectors.hpp"

namespace nearfield {

// Each row in so many parts, at least one, whose first k are selected from again. run_bits takes as
// many as row_parts.hpp says.
void run_bits_in_parts(const SelectJob& job, std::int64_t parts, Scratch& scratch);

}  // namespace nearfield
