// What is in a file.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cli/file_plugin.hpp"

namespace nearfield::hdf5 {

// The datasets of the file, in groups too, and the attributes of its root.
cli::PluginListing list(const std::string& file);

std::vector<std::int64_t> shape_of(hid_t space);

// "f32", "int32 ids"; of types that are not read here what they are: "a text".
std::string describe_type(hid_t type);

}  // namespace nearfield::hdf5
