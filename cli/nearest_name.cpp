#include "nearest_name.hpp"

#include <algorithm>
#include <vector>

namespace nearfield::cli {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // cost[i][j]: from the first i letters of a to the first j of b.
  std::vector cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      const std::size_t replaced = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

std::optional<std::string> nearest_name(std::string_view typed,
                                        std::span<const std::string> names) {
  std::size_t least = 2 + typed.size() / 4;  // at most one slip, and one more in four letters
  std::optional<std::string> nearest;
  for (const std::string& name : names) {
    if (const std::size_t distance = edit_distance(typed, name); distance < least) {
      least = distance;
      nearest = name;
    }
  }
  return nearest;
}

}  // namespace nearfield::cli
