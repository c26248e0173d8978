#include "search/pair_order.hpp"

#include <algorithm>
#include <tuple>

namespace nearfield {
namespace {

// Of each image the number of its group: neighbours, of `most` bytes together at most, or one
// image.
std::vector<std::int64_t> groups_of(std::span<const std::int64_t> image_bytes, std::int64_t most) {
  std::vector<std::int64_t> groups;
  groups.reserve(image_bytes.size());
  std::int64_t group = 0;
  std::int64_t bytes = 0;
  for (const std::int64_t of_image : image_bytes) {
    if (bytes > 0 && of_image > most - bytes) {
      ++group;
      bytes = 0;
    }
    bytes += of_image;
    groups.push_back(group);
  }
  return groups;
}

struct PlacedPair {
  std::int64_t row;     // the smaller group
  std::int64_t column;  // the other; falling in every second row, so that a row begins with the
                        // group that the last one ended with
  std::int64_t low;     // the smaller image
  std::int64_t high;
  std::int64_t place;

  auto order() const { return std::tie(row, column, low, high, place); }
  bool same_block(const PlacedPair& other) const {
    return row == other.row && column == other.column;
  }
};

}  // namespace

PairBlocks blocks_of_pairs(std::span<const ImagePair> pairs,
                           std::span<const std::int64_t> image_bytes, std::int64_t budget) {
  const std::vector<std::int64_t> groups = groups_of(image_bytes, budget / 2);
  std::vector<PlacedPair> placed;
  placed.reserve(pairs.size());
  for (const ImagePair& pair : pairs) {
    const auto [low, high] = std::minmax(pair.first, pair.second);
    const std::int64_t row = groups[static_cast<std::size_t>(low)];
    const std::int64_t column = groups[static_cast<std::size_t>(high)];
    placed.push_back({row, row % 2 == 0 ? column : -column, low, high,
                      static_cast<std::int64_t>(placed.size())});
  }
  std::sort(placed.begin(), placed.end(),
            [](const PlacedPair& a, const PlacedPair& b) { return a.order() < b.order(); });

  PairBlocks blocks;
  blocks.places.reserve(placed.size());
  blocks.ends.reserve(placed.size());
  for (std::size_t i = 0; i < placed.size(); ++i) {
    blocks.places.push_back(placed[i].place);
    if (i + 1 == placed.size() || !placed[i].same_block(placed[i + 1])) {
      blocks.ends.push_back(std::ssize(blocks.places));
    }
  }
  return blocks;
}

}  // namespace nearfield
