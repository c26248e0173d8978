#include <hwy/targets.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#include <nearfield/isa.hpp>

#include "core/fail.hpp"
#include "device/cpu/byte_products.hpp"
#include "device/targets.h"
#include "device/vector_isa.hpp"

namespace nearfield {
namespace {

constexpr std::array<std::string_view, 8> kNames{"scalar",     "ssse3",     "avx2", "avx512",
                                                 "avx512vnni", "avx512icl", "amx",  "neon"};

std::string join(const std::vector<Isa>& isas) {
  std::string text;
  for (const Isa isa : isas) text += (text.empty() ? "" : ", ") + std::string(to_string(isa));
  return text;
}

// Instructions that multiply bytes, which tiles use: Highway has no target for them alone.
bool has_own_vectors(Isa isa) { return isa != Isa::avx512vnni && isa != Isa::amx; }

std::vector<Isa> find_isas() {
  const std::int64_t supported = hwy::SupportedTargets();
  std::vector<Isa> isas;
#define NEARFIELD_ADD(isa, target, bit) \
  if (Isa::isa == Isa::scalar || (supported & (bit)) != 0) isas.push_back(Isa::isa);
  NEARFIELD_FOR_EACH_TARGET(NEARFIELD_ADD)
#undef NEARFIELD_ADD
  // A CPU that has these has AVX-512; a build that has not needs neither.
  const auto vectors = std::find(isas.begin(), isas.end(), Isa::avx512);
  if (vectors == isas.end()) return isas;
  if (has_vnni()) isas.insert(vectors + 1, Isa::avx512vnni);
  if (amx_is_usable()) isas.push_back(Isa::amx);
  return isas;
}

}  // namespace

std::string_view to_string(Isa isa) { return kNames[static_cast<std::size_t>(isa)]; }

Isa parse_isa(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) {
    fail(ErrorCode::invalid_argument, "unknown ISA '{}', expected one of {}", name,
         fmt::join(kNames, ", "));
  }
  return static_cast<Isa>(found - kNames.begin());
}

// Once: a virtual machine takes tens of microseconds to answer what its CPU has.
std::vector<Isa> available_isas() {
  static const std::vector<Isa> isas = find_isas();
  return isas;
}

Isa vector_isa(Isa isa) {
  const std::vector<Isa> available = available_isas();
  auto found = std::find(available.begin(), available.end(), isa);
  if (found == available.end()) return isa;
  while (found != available.begin() && !has_own_vectors(*found)) --found;
  return *found;
}

Isa default_isa() {
  const std::vector<Isa> available = available_isas();
  const char* const wanted = std::getenv("NEARFIELD_ISA");
  if (wanted == nullptr || *wanted == '\0') return available.back();
  const Isa isa = parse_isa(wanted);
  if (std::find(available.begin(), available.end(), isa) == available.end()) {
    fail(ErrorCode::unsupported, "NEARFIELD_ISA={} is not available here, only {}", wanted,
         join(available));
  }
  return isa;
}

}  // namespace nearfield
