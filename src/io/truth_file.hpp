// What tells big-ann's ground truth from other files.
#pragma once

#include "io/file.hpp"
#include "io/pair_header.hpp"

namespace nearfield {

// Rows and k; throws unless the file's size is, to the byte, that of such a file.
PairHeader read_truth_shape(const InputFile& file);

// Whether it has that size.
bool has_truth_size(const InputFile& file);

// Whether, in the first rows of a file of that size, the distances are those of sorted neighbours
// and no id comes twice.
bool looks_like_truth(const InputFile& file);

}  // namespace nearfield
