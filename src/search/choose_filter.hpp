#pragma once

#include <memory>

#include <nearfield/isa.hpp>

#include "filter/filter_maker.hpp"
#include "search/plan.hpp"

namespace nearfield {

struct SearchInput;

// The first of the filters that know the metric, pay and fit the memory limit, or every row. Adds
// what it needs to the shape.
std::unique_ptr<FilterMaker> choose_filter(const SearchInput& input, Isa isa, const Tuning& tuning,
                                           SearchShape& shape);

}  // namespace nearfield
