// What both kinds of sample select do: sample.cu, and a sort of what it has selected.
#pragma once

#include <string_view>

#include "select/gpu/selectors.hpp"

namespace nearfield {

struct SampleSelect {
  std::string_view module;
  // The lowest bit to sort by: 32 if items are selected in the order of their places.
  std::uint32_t first_bit;
};

std::int64_t scratch_bytes_sample(const SelectShape& shape);
void run_sample(const SampleSelect& select, const SelectJob& job, Scratch& scratch);

}  // namespace nearfield
