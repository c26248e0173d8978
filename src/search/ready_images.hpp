// Descriptors of images as they are searched: read, and made ready for tiles.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include <nearfield/context.hpp>
#include <nearfield/image_features.hpp>
#include <nearfield/metric.hpp>
#include <nearfield/rows.hpp>

#include "core/monitor.hpp"
#include "search/prepared_base.hpp"

namespace nearfield {

class ReadyImages {
 public:
  // Both must outlive it. `context` is for a single image.
  ReadyImages(const ImageFeatures& features, MetricSpec metric, const Context& context);

  // What an image takes while it is kept.
  std::int64_t bytes_of(std::int64_t image) const;
  // What it takes to make one ready, beside it.
  std::int64_t making_bytes() const;

  // From now on these are there, each named once, and no others.
  void keep(const std::vector<std::int64_t>& images, int threads, const Monitor& monitor);

  MatrixRows rows(std::int64_t image) const;

  std::int64_t images_read() const { return images_read_; }
  std::int64_t most_bytes_kept() const { return most_bytes_; }

 private:
  struct Image {
    Matrix read;  // if it was not in memory
    MatrixView rows;
    std::optional<PreparedBase> prepared;
  };

  void forget_others(const std::vector<std::int64_t>& images);
  void read(std::int64_t image);
  void check_read(std::int64_t image, MatrixView rows) const;

  const ImageFeatures& features_;
  const MetricSpec metric_;
  const Context& context_;
  const std::optional<BaseRounding> rounding_;  // if they are made ready
  std::unordered_map<std::int64_t, Image> images_;
  std::int64_t images_read_ = 0;
  std::int64_t most_bytes_ = 0;
};

}  // namespace nearfield
