#pragma once

#include <memory>
#include <string>

#include <nearfield/context.hpp>
#include <nearfield/isa.hpp>

#include "filter/filter_maker.hpp"
#include "search/plan.hpp"

namespace nearfield {

struct SearchInput;

struct ChosenDevice {
  std::string id;  // "cpu", "opencl:0", "opencl:0,cpu"
  std::unique_ptr<FilterMaker> filter;
  std::string note;  // why not the one of the context
};

// Where a search runs: on the device or devices of the context, if they have what keys need. Adds
// to the shape what fits there, and what the filter needs.
ChosenDevice choose_device(const SearchInput& input, const Context& context, Isa isa,
                           const Tuning& tuning, SearchShape& shape);

}  // namespace nearfield
