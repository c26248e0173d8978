// The text in a .npy header: a Python dictionary of three known keys.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nearfield {

struct NpyHeader {
  std::string descr;  // as it stands there: "<f4"
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

// Throws corrupt_file, naming the path and the byte of the text, for anything but a dictionary of
// exactly these keys.
NpyHeader parse_npy_header(const std::string& path, std::string_view text);

}  // namespace nearfield
