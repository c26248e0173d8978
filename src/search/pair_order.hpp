// In which order pairs of images are matched, so that few images need be kept.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <nearfield/image_features.hpp>

namespace nearfield {

// What ordering takes at most, of a pair and of an image.
inline constexpr std::int64_t kOrderBytesOfAPair = 64;
inline constexpr std::int64_t kOrderBytesOfAnImage = 24;

// Places of pairs, block by block.
struct PairBlocks {
  std::vector<std::int64_t> places;
  std::vector<std::int64_t> ends;  // of each block, in places

  std::int64_t count() const { return std::ssize(ends); }
  std::span<const std::int64_t> block(std::int64_t i) const {
    const std::int64_t begin = i == 0 ? 0 : ends[static_cast<std::size_t>(i - 1)];
    const std::int64_t end = ends[static_cast<std::size_t>(i)];
    return std::span(places).subspan(static_cast<std::size_t>(begin),
                                     static_cast<std::size_t>(end - begin));
  }
};

// The images of a block take at most `budget` bytes together, or it is those of a single pair.
// Blocks that follow each other share half of their images where all pairs are asked for. Images
// are cut into groups of half the budget, and a block is the pairs between two groups: of n groups,
// each is read about n / 2 times.
PairBlocks blocks_of_pairs(std::span<const ImagePair> pairs,
                           std::span<const std::int64_t> image_bytes, std::int64_t budget);

}  // namespace nearfield
