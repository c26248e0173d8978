#include "truth_name.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nearfield/files.hpp>

#include "vector_files.hpp"

namespace nearfield::cli {

void check_truth_name(const std::string& option, const std::string& path) {
  if (is_hdf5(path) || has_known_ending(path) || path.ends_with(".csv")) {
    throw CLI::ValidationError(
        option, fmt::format("'{}' is a name of another kind of file, from which ground truth could "
                            "not be read back: give it another ending, such as .bin ('nearfield "
                            "knn' writes ids and distances to files of such names)",
                            path));
  }
}

}  // namespace nearfield::cli
