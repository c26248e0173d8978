#pragma once

#include <cstdint>

#include <nearfield/matrix.hpp>

#include "filter/rounded/rounding.hpp"

namespace nearfield {

// How many times as long a search takes with tiles of bytes as with tiles of bf16, as a sample of
// queries and rows lets expect; `rows` are some of `base_rows`. 0 if nothing can be said. The
// rounding is fitted. A poor guess costs time, never an answer.
double bf16_gain(const Rounding& rounding, MatrixView queries, MatrixView rows,
                 std::int64_t base_rows);
std::int64_t bf16_gain_bytes(std::int64_t cols);

}  // namespace nearfield
