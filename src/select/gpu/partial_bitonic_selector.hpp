// Partial bitonic sort, also of what others have found.
#pragma once

#include "select/gpu/selectors.hpp"

namespace nearfield {

// Of rows of `count`, of that kind of source, the first k of the job, to its items.
void sort_partially(const SelectJob& job, const gpu::Buffer& values, std::uint32_t kind,
                    std::int64_t count, bool largest);

}  // namespace nearfield
