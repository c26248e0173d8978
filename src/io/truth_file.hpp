// The shape of big-ann's ground truth, which is told from other files by its size alone.
#pragma once

#include "io/file.hpp"
#include "io/pair_header.hpp"

namespace nearfield {

// Rows and k; throws unless the file's size is, to the byte, that of such a file.
PairHeader read_truth_shape(const InputFile& file);

// Whether it has that size.
bool has_truth_size(const InputFile& file);

}  // namespace nearfield
