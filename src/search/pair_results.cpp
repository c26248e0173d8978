#include "search/pair_results.hpp"

namespace nearfield {

void append_pairs(std::span<const KeyedPair> found, MetricSpec metric, const Monitor& monitor,
                  Pairs& result) {
  constexpr std::size_t kPerCheck = 1 << 16;
  result.first.reserve(found.size());
  result.second.reserve(found.size());
  result.keys.reserve(found.size());
  result.distances.reserve(found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (i % kPerCheck == 0) monitor.check();
    result.first.push_back(found[i].first);
    result.second.push_back(found[i].second);
    result.keys.push_back(found[i].key);
    result.distances.push_back(static_cast<float>(reported_value(metric, found[i].key)));
  }
}

}  // namespace nearfield
