#include "truth_name.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "vector_files.hpp"

namespace nearfield::cli {
namespace {

bool is_other_file_name(const std::string& path) {
  // lead: has_vector_ending
  constexpr std::array<std::string_view, 10> kOthers{".fbin", ".f16bin", ".u8bin", ".i8bin",
                                                     ".ibin", ".fvecs",  ".bvecs", ".ivecs",
                                                     ".npy",  ".csv"};
  const auto has = [&](std::string_view ending) { return path.ends_with(ending); };
  return is_hdf5(path) || std::ranges::any_of(kOthers, has);
}

}  // namespace

void check_truth_name(const std::string& option, const std::string& path) {
  if (is_other_file_name(path)) {
    throw CLI::ValidationError(
        option, fmt::format("'{}' is a name of another kind of file, from which ground truth could "
                            "not be read back: give it another ending, such as .bin ('nearfield "
                            "knn' writes ids and distances to files of such names)",
                            path));
  }
}

}  // namespace nearfield::cli
