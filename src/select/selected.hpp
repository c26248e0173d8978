// The result of a selection, as it is made and filled, wherever the selection runs.
#pragma once

#include <cstdint>
#include <vector>

#include <nearfield/results.hpp>
#include <nearfield/select.hpp>

#include "core/monitor.hpp"

namespace nearfield {

std::int64_t selected_bytes(std::int64_t rows, std::int64_t k);

// Nothing found yet.
Selected none_selected(std::int64_t rows, const SelectOptions& options, const Monitor& monitor);

// Of values of that type. `spare` is made as large as sorting needs it.
void sort_selected(DType dtype, std::vector<Neighbor>& pairs, std::vector<Neighbor>& spare);

// At most k, whose keys are the values, negated where the largest are wanted.
void write_selected(std::int64_t row, const std::vector<Neighbor>& pairs, bool largest,
                    Selected& selected);

}  // namespace nearfield
