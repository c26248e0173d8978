// Descriptors of many images, and pairs of these.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <nearfield/matrix.hpp>

namespace nearfield {

// Descriptors of images, which are numbered from 0. All are of one type and width.
class ImageFeatures {
 public:
  virtual ~ImageFeatures() = default;

  virtual std::int64_t images() const = 0;
  virtual DType dtype() const = 0;
  virtual std::int64_t cols() const = 0;

  // How many descriptors an image has. Asked often: nothing is read for it.
  virtual std::int64_t rows(std::int64_t image) const = 0;

  // Those of an image, if they are in memory already; `read` is then never called.
  virtual std::optional<MatrixView> in_memory(std::int64_t /*image*/) const { return std::nullopt; }

  // rows(image) of them, of that type and width. Not called from two threads at once.
  virtual Matrix read(std::int64_t image) const = 0;
};

// Looks at arrays, which must outlive it: at least one, since they say the type.
class MatrixFeatures final : public ImageFeatures {
 public:
  explicit MatrixFeatures(std::vector<MatrixView> images);

  std::int64_t images() const override { return static_cast<std::int64_t>(images_.size()); }
  DType dtype() const override { return images_.front().dtype(); }
  std::int64_t cols() const override { return images_.front().cols(); }
  std::int64_t rows(std::int64_t image) const override { return at(image).rows(); }
  std::optional<MatrixView> in_memory(std::int64_t image) const override { return at(image); }
  Matrix read(std::int64_t image) const override;

 private:
  const MatrixView& at(std::int64_t image) const {
    return images_[static_cast<std::size_t>(image)];
  }

  std::vector<MatrixView> images_;
};

struct ImagePair {
  std::int64_t first;
  std::int64_t second;

  friend bool operator==(const ImagePair&, const ImagePair&) = default;
};

// Every two of so many images, the smaller number first.
std::vector<ImagePair> exhaustive_pairs(std::int64_t images);

// Every image with the `overlap` that follow it: frames of a video.
std::vector<ImagePair> sequential_pairs(std::int64_t images, std::int64_t overlap);

// How many these are, 16 bytes each: exhaustive_pairs has as many as an overlap of all images.
std::int64_t count_sequential_pairs(std::int64_t images, std::int64_t overlap);

}  // namespace nearfield
