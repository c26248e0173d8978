#include "select/gpu/selectors.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "device/default_choice.hpp"
#include "device/tuning_in_use.hpp"

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

// By device/default_choice.hpp.
std::string_view selector_by_rule(const SelectShape& shape) {
  const DefaultChoice& rules = kDefaultChoice;
  if (shape.k <= rules.most_bits_k) return "bits";
  const bool is_long = shape.cols >= rules.least_sample_values;
  const double most = is_long ? rules.most_selected_of_long : rules.most_selected_of_short;
  if (static_cast<double>(shape.k) > most * static_cast<double>(shape.cols)) return "full_sort";
  if (shape.k <= rules.most_bits_in_memory_k) return "bits_in_memory";
  return is_long ? "sample_two_stage" : "radix";
}

}  // namespace

std::span<const DeviceSelector> device_selectors() { return kSelectors; }

std::vector<const DeviceSelector*> selectors_for(std::int64_t k) {
  std::vector<const DeviceSelector*> all;
  for (const DeviceSelector& selector : kSelectors) {
    if (selector.most_k >= k) all.push_back(&selector);
  }
  return all;
}

const DeviceSelector& choose_selector(const gpu::Facts& facts, const SelectShape& shape) {
  if (const TuningInUse tuning = tuning_of(facts.name, facts.driver); tuning.table != nullptr) {
    const std::vector<const DeviceSelector*> all = selectors_for(shape.k);
    std::vector<std::string_view> names;
    for (const DeviceSelector* const selector : all) names.push_back(selector->name);
    const std::optional<std::size_t> best =
        fastest(tuning.table->selection, {shape.rows, shape.cols, 1, shape.k}, names);
    if (best) return *all[*best];
  }
  return *std::ranges::find(kSelectors, selector_by_rule(shape), &DeviceSelector::name);
}

}  // namespace nearfield
