// Whether results can be written, asked before the hours that compute them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nearfield::cli {

struct OutputPath {
  std::string option;                     // that gives the path
  std::vector<std::string_view> endings;  // one of which the name must have; empty: any name
  std::string path;                       // empty: not asked for

  bool given() const { return !path.empty(); }
  bool ends_in(std::string_view ending) const;  // never true of a dataset, whatever its name
};

// Two texts of different kinds on one stream can be read by nobody: of a command that prints JSON.
// Throws CLI::ValidationError.
void check_json_alone(const OutputPath& output);

// Under one name or several: links are followed. Two datasets of one HDF5 file are two files, and
// one of them is not the file.
bool same_file(const std::string& a, const std::string& b);

// Throws CLI::ValidationError for a name that can never be right (its ending, a file that is also
// read, or two outputs of one name, but for /dev/null), Error for one that the system refuses or
// that is a dataset which cannot be added.
void check_output_paths(std::span<const OutputPath> outputs, std::span<const std::string> inputs);

}  // namespace nearfield::cli
