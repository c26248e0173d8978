#include "select/gpu/selectors.hpp"

#include <array>

namespace nearfield {

#define NEARFIELD_SELECTOR(name, most_k, description)          \
  std::int64_t scratch_bytes_##name(const SelectShape& shape); \
  void run_##name(const SelectJob& job, Scratch& scratch);
#include "select/gpu/selectors.def"
#undef NEARFIELD_SELECTOR

namespace {

constexpr std::array kSelectors = {
#define NEARFIELD_SELECTOR(name, most_k, description) \
  DeviceSelector{#name, description, most_k, &scratch_bytes_##name, &run_##name},
#include "select/gpu/selectors.def"
#undef NEARFIELD_SELECTOR
};

}  // namespace

std::span<const DeviceSelector> device_selectors() { return kSelectors; }

// The first that takes k: one pass over the values is less than several, and more than one pass is
// what the others take (seed: Hanák 2023, section 5.3).
const DeviceSelector& choose_selector(const SelectShape& shape) {
  const DeviceSelector* chosen = kSelectors.data();
  while (chosen->most_k < shape.k) ++chosen;
  return *chosen;
}

}  // namespace nearfield
