#include "select/value_kernels.hpp"

#include <algorithm>
#include <vector>

#include "core/fail.hpp"

namespace nearfield {

const SelectKernels& select_kernels(Isa isa) {
  const std::vector<Isa> available = available_isas();
  const auto found = std::find(available.begin(), available.end(), isa);
  if (found == available.end()) {
    std::string names;
    for (const Isa one : available) names += fmt::format(" {}", to_string(one));
    fail(ErrorCode::unsupported, "ISA {} is not available here, only:{}", to_string(isa), names);
  }
  // Tiles compare no values: with them go the vectors of the ISA before.
  return *built_select_kernels(isa == Isa::amx ? *(found - 1) : isa);
}

}  // namespace nearfield
