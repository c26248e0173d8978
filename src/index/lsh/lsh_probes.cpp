#include "index/lsh/lsh_probes.hpp"

#include <algorithm>
#include <bit>
#include <functional>

namespace nearfield {
namespace {

constexpr std::size_t kMostSteps = 64;

// Whether the last step of a set goes with the others.
bool joins(std::uint64_t set, int last, std::span<const ProbeStep> steps) {
  const int group = steps[static_cast<std::size_t>(last)].group;
  for (std::uint64_t others = set & ~(std::uint64_t{1} << last); others != 0;
       others &= others - 1) {
    if (steps[static_cast<std::size_t>(std::countr_zero(others))].group == group) return false;
  }
  return true;
}

std::uint64_t change_of(std::uint64_t set, std::span<const ProbeStep> steps) {
  std::uint64_t change = 0;
  for (; set != 0; set &= set - 1) {
    change ^= steps[static_cast<std::size_t>(std::countr_zero(set))].change;
  }
  return change;
}

}  // namespace

void LshProbes::push(const StepSet& set) {
  heap_.push_back(set);
  std::ranges::push_heap(heap_, std::greater<>());
}

// From a set come two others, neither of them cheaper: its last step is replaced by the next one,
// or the next one is added. So every set comes once.
void LshProbes::find(std::uint64_t own, std::vector<ProbeStep>& steps,
                     std::span<std::uint64_t> keys) {
  std::ranges::fill(keys, own);
  const std::size_t count = std::min(steps.size(), kMostSteps);
  std::partial_sort(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(count), steps.end());
  const auto cost = [&](int step) { return steps[static_cast<std::size_t>(step)].cost; };
  heap_.clear();
  if (count > 0) push({cost(0), 1, 0});
  for (std::size_t found = 1; found < keys.size() && !heap_.empty();) {
    std::ranges::pop_heap(heap_, std::greater<>());
    const StepSet set = heap_.back();
    heap_.pop_back();
    const bool joined = joins(set.steps, set.last, steps);
    if (joined) keys[found++] = own ^ change_of(set.steps, steps);
    const int next = set.last + 1;
    if (next == static_cast<int>(count)) continue;
    const std::uint64_t bit = std::uint64_t{1} << next;
    push({set.cost - cost(set.last) + cost(next), (set.steps & ~(bit >> 1)) | bit, next});
    if (joined) push({set.cost + cost(next), set.steps | bit, next});
  }
}

}  // namespace nearfield
