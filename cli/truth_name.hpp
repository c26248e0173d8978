// What a file of ground truth may be called. The format has no ending of its own, and under that of
// another kind of file it would be read as such.
#pragma once

#include <string>

namespace nearfield::cli {

// Throws CLI::ValidationError for a name of vectors, ids or text, and for a path into an HDF5 file,
// which holds no ground truth in one piece.
void check_truth_name(const std::string& option, const std::string& path);

}  // namespace nearfield::cli
