#include "index/family.hpp"

#include <array>

#include "core/fail.hpp"

namespace nearfield {
namespace {

struct FamilyInfo {
  std::string_view name;
  std::unique_ptr<Family> (*make)(const IndexSpec& spec);
};

constexpr std::array kFamilies{
#define NEARFIELD_INDEX(name, text) FamilyInfo{#name, make_##name},
#include <nearfield/indexes.def>
#undef NEARFIELD_INDEX
};

}  // namespace

std::unique_ptr<Family> make_family(const IndexSpec& spec) {
  std::string known;
  for (const FamilyInfo& family : kFamilies) {
    if (family.name == spec.family) return family.make(spec);
    known += fmt::format("{}{}", known.empty() ? "" : ", ", family.name);
  }
  fail(ErrorCode::invalid_argument, "there is no index '{}': there are {}", spec.family, known);
}

}  // namespace nearfield
