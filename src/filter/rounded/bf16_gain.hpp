#pragma once

#include <cstdint>

#include "core/monitor.hpp"
#include "filter/filter_maker.hpp"
#include "filter/rounded/rounding.hpp"

namespace nearfield {

// What the threshold of a query is expected to be: the key of such a rank among so many rows.
struct Sought {
  std::int64_t rank = 1;
  std::int64_t rows = 1;
};

// How many times as long a search takes with tiles of bytes as with tiles of bf16, as a sample of
// queries and rows lets expect; `rows` are some of those of the base. 0 if nothing can be said. The
// rounding is fitted. A poor guess costs time, never an answer.
double bf16_gain(const BaseRounding& rounding, const Piece& queries, const Piece& rows,
                 const Sought& sought, const Monitor& monitor);
std::int64_t bf16_gain_bytes(std::int64_t cols);

}  // namespace nearfield
