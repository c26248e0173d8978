// Descriptors for tests, where no data set is at hand.
#pragma once

#include <cstdint>

#include <nearfield/matrix.hpp>

namespace nearfield::bench {

// Bytes of 128 columns, in clusters, so that there is something to be found.
Matrix made_up_descriptors(std::int64_t rows, std::uint64_t seed);

}  // namespace nearfield::bench
