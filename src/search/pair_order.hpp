// In which order pairs of images are matched, so that few images need be kept.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <nearfield/match_pairs.hpp>

namespace nearfield {

// What ordering takes of a pair at most: where it is sorted, and its place in a block, a vector
// that doubles; and of an image.
inline constexpr std::int64_t kOrderBytesOfAPair = 72;
inline constexpr std::int64_t kOrderBytesOfAnImage = 16;

// Blocks of pairs, by their places: the images of a block take at most `budget` bytes together, or
// it is those of a single pair. Blocks that follow each other share half of their images where all
// pairs are asked for. Images are cut into groups of half the budget, and a block is the pairs
// between two groups: of n groups, each is read about n / 2 times.
std::vector<std::vector<std::int64_t>> blocks_of_pairs(std::span<const ImagePair> pairs,
                                                       std::span<const std::int64_t> image_bytes,
                                                       std::int64_t budget);

}  // namespace nearfield
