#include "index/family.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/fail.hpp"
#include "device/device_name.hpp"

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

constexpr char kBetweenParameters = ',';

std::string_view family_name(std::string_view family) {
  return family.substr(0, family.find(kBetweenParameters));
}

}  // namespace

void Family::check_search_device(const Context& context) const {
  check_on_cpu(context, "an index of this family");
}

void Family::check_build_device(const Context& context) const {
  check_on_cpu(context, "adding to an index of this family");
}

std::int64_t FamilyParameter::number() const {
  std::int64_t value_of = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, value_of);
  if (error != std::errc() || stop != end) {
    fail(ErrorCode::invalid_argument, "'{}={}': give a whole number", name, value);
  }
  return value_of;
}

std::int64_t FamilyParameter::number(std::int64_t least, std::int64_t most) const {
  const std::int64_t given = number();
  if (given < least || given > most) {
    fail(ErrorCode::invalid_argument, "'{}' is {} to {}, not {}", name, least, most, given);
  }
  return given;
}

std::vector<FamilyParameter> family_parameters(std::string_view family) {
  std::vector<FamilyParameter> parameters;
  for (std::size_t at = family.find(kBetweenParameters); at != std::string_view::npos;) {
    const std::size_t next = family.find(kBetweenParameters, at + 1);
    const std::string_view text = family.substr(at + 1, next - at - 1);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) {
      fail(ErrorCode::invalid_argument, "'{}' of '{}' is no parameter: write name=value", text,
           family);
    }
    const std::string_view name = text.substr(0, equals);
    if (std::ranges::find(parameters, name, &FamilyParameter::name) != parameters.end()) {
      fail(ErrorCode::invalid_argument, "'{}' has '{}' twice: give it once", family, name);
    }
    parameters.push_back({name, text.substr(equals + 1)});
    at = next;
  }
  return parameters;
}

std::unique_ptr<Family> make_family(const IndexSpec& spec) {
  std::string known;
  for (const FamilyInfo& family : kFamilies) {
    if (family.name == family_name(spec.family)) return family.make(spec);
    known += fmt::format("{}{}", known.empty() ? "" : ", ", family.name);
  }
  fail(ErrorCode::invalid_argument, "there is no index '{}': there are {}", spec.family, known);
}

}  // namespace nearfield
