// Matches of many pairs of images: every image is read and made ready once, as far as memory goes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include <nearfield/context.hpp>
#include <nearfield/image_features.hpp>
#include <nearfield/match.hpp>
#include <nearfield/results.hpp>

namespace nearfield {

struct MatchPairsStats {
  std::int64_t pairs = 0;
  std::int64_t matches = 0;
  std::int64_t images_read = 0;      // an image that had to make room for others counts again
  std::int64_t most_bytes_kept = 0;  // of images, read and made ready
  double seconds = 0;
  double reading_seconds = 0;  // of these, reading images and making them ready
  double taking_seconds = 0;   // of these, in `take`: matching waits meanwhile
};

// The matches of a pair, by its place in `pairs`.
using TakeMatches = std::function<void(std::int64_t pair, const Pairs& matches)>;

// What match() finds for each pair. `take` is called once a pair, from the calling thread, in an
// order that suits the images that are kept, not the number of threads, within a second or so after
// a pair was matched; an exception of it ends the call. context.memory_limit holds for images and
// searches together; where it is empty, 1 GiB of images is kept. Progress counts (descriptor,
// descriptor) pairs. A cancel or a deadline is heard as in a search, but not while `take`, or the
// reading of one image, goes on. To go on with work that was interrupted, leave out the pairs that
// `take` has had.
MatchPairsStats match_pairs(const ImageFeatures& features, std::span<const ImagePair> pairs,
                            const TakeMatches& take, const MatchOptions& options = {},
                            const Context& context = {});

}  // namespace nearfield
