#pragma once

#include <string>

#include "index/ewh/ewh_choice.hpp"
#include "tests/unit/index/bit_codes.hpp"

namespace nearfield::test {

// What an index of these rows is searched with.
inline EwhShape ewh_shape(const std::string& family, MatrixView rows) {
  const Context context;
  const Monitor monitor(context, 1);
  return choose_ewh(rows, rows.rows(), parse_ewh(bits_spec(family, rows.cols())), monitor);
}

}  // namespace nearfield::test
