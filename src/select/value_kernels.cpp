#include "select/value_kernels.hpp"

#include <algorithm>
#include <vector>

#include "core/fail.hpp"
#include "device/vector_isa.hpp"

namespace nearfield {

const SelectKernels& select_kernels(Isa isa) {
  const std::vector<Isa> available = available_isas();
  if (std::find(available.begin(), available.end(), isa) == available.end()) {
    std::string names;
    for (const Isa one : available) names += fmt::format(" {}", to_string(one));
    fail(ErrorCode::unsupported, "ISA {} is not available here, only:{}", to_string(isa), names);
  }
  return *built_select_kernels(vector_isa(isa));
}

}  // namespace nearfield
