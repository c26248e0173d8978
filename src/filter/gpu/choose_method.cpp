#include "filter/gpu/choose_method.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "device/default_choice.hpp"
#include "device/tuning_in_use.hpp"

namespace nearfield {
namespace {

// By device/default_choice.hpp; bytes are exact, and cost a quarter of what others do or less.
DeviceMethod method_by_rule(const DeviceSearch& search, std::span<const DeviceMethod> candidates) {
  const auto applies = [&](DeviceMethod method) {
    return std::ranges::find(candidates, method) != candidates.end();
  };
  const DefaultChoice& rules = kDefaultChoice;
  if (applies(DeviceMethod::two_bytes)) return DeviceMethod::two_bytes;
  if (applies(DeviceMethod::bytes)) return DeviceMethod::bytes;
  if (applies(DeviceMethod::halves) && search.cols >= search.least_half_cols) {
    return DeviceMethod::halves;
  }
  const bool fused = applies(DeviceMethod::fused) && search.cols <= rules.most_fused_cols &&
                     search.first_of_any <= rules.most_fused_k &&
                     search.query_count >= rules.least_fused_queries;
  return fused ? DeviceMethod::fused : DeviceMethod::keys;
}

}  // namespace

DeviceMethod choose_method(const gpu::Facts& facts, const DeviceSearch& search,
                           std::span<const DeviceMethod> candidates) {
  if (search.method && std::ranges::count(candidates, *search.method) > 0) return *search.method;
  if (const TuningInUse tuning = tuning_of(facts.name, facts.driver); tuning.table != nullptr) {
    std::vector<std::string_view> names;
    for (const DeviceMethod method : candidates) names.push_back(to_string(method));
    const TuningShape shape{search.query_count, search.row_count, search.cols, search.first_of_any};
    if (const auto best = fastest(tuning.table->search, shape, names)) return candidates[*best];
  }
  return method_by_rule(search, candidates);
}

}  // namespace nearfield
