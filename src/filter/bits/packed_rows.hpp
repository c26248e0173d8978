#pragma once

#include "filter/bits/bit_kernel.hpp"
#include "filter/filter_maker.hpp"

namespace nearfield {

// Some rows of a piece, as a kernel reads them.
inline PackedRows packed_rows(const Piece& piece, Range rows) {
  return {.first = piece.row(rows.begin),
          .stride = piece.view.stride_bytes(),
          .bytes = row_bytes(DType::bits, piece.view.cols()),
          .count = rows.size()};
}

}  // namespace nearfield
