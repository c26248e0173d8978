#pragma once

#include <memory>
#include <string>

#include <nearfield/context.hpp>

#include "filter/filter_maker.hpp"
#include "search/plan.hpp"

namespace nearfield {

struct SearchInput;

struct ChosenDevice {
  std::string id;                       // "cpu", "opencl:0"
  std::unique_ptr<FilterMaker> filter;  // null on the CPU
  std::string note;                     // why not the one of the context
};

// Where a search runs: on the device of the context, if it has what keys need. Adds what fits there
// to the shape.
ChosenDevice choose_device(const SearchInput& input, const Context& context, SearchShape& shape);

}  // namespace nearfield
