#include <nearfield/image_features.hpp>

#include <algorithm>
#include <utility>

#include <nearfield/rows.hpp>

#include "core/checked.hpp"
#include "core/fail.hpp"
#include "core/memory_errors.hpp"

namespace nearfield {

MatrixFeatures::MatrixFeatures(std::vector<MatrixView> images) : images_(std::move(images)) {
  if (images_.empty()) {
    fail(ErrorCode::invalid_argument, "no images: there must be one, to say the type");
  }
  for (std::size_t i = 0; i < images_.size(); ++i) {
    if (images_[i].dtype() == dtype() && images_[i].cols() == cols()) continue;
    fail(ErrorCode::invalid_argument,
         "image {} has {} columns of {} but image 0 has {} of {}: all must have the same", i,
         images_[i].cols(), to_string(images_[i].dtype()), cols(), to_string(dtype()));
  }
}

Matrix MatrixFeatures::read(std::int64_t image) const { return read_all(MatrixRows(at(image))); }

std::vector<ImagePair> exhaustive_pairs(std::int64_t images) {
  return sequential_pairs(images, images);
}

std::vector<ImagePair> sequential_pairs(std::int64_t images, std::int64_t overlap) {
  const std::int64_t count = count_sequential_pairs(images, overlap);
  constexpr std::int64_t kPairBytes = sizeof(ImagePair);
  checked_mul(count, kPairBytes, "bytes of a list of pairs of images");
  return with_memory_errors(
      fmt::format("a list of {} pairs of images: name fewer of them", count), [&] {
        std::vector<ImagePair> pairs;
        pairs.reserve(static_cast<std::size_t>(count));
        for (std::int64_t first = 0; first < images; ++first) {
          const std::int64_t end = first + 1 + std::min(overlap, images - first - 1);
          for (std::int64_t second = first + 1; second < end; ++second) {
            pairs.push_back({first, second});
          }
        }
        return pairs;
      });
}

std::int64_t count_sequential_pairs(std::int64_t images, std::int64_t overlap) {
  if (images < 0 || overlap < 0) {
    fail(ErrorCode::invalid_argument, "images and overlap must be 0 or more, got {} and {}", images,
         overlap);
  }
  const std::int64_t most = std::min(overlap, std::max<std::int64_t>(images - 1, 0));
  // The last `most` images have one less each.
  return checked_mul(images, most, "pairs of images") - most * (most + 1) / 2;
}

}  // namespace nearfield
