#include "search/ready_images.hpp"

#include <algorithm>
#include <unordered_set>

#include "core/checked.hpp"
#include "core/tasks.hpp"
#include "device/device_name.hpp"

namespace nearfield {
namespace {

// Of the table of images, and what is held beside the rows of each.
constexpr std::int64_t kBytesBeside = 1024;

// Of a column, where values are rounded: the centre, and the signs of the rotation, whose number is
// a power of two.
constexpr std::int64_t kCentreBytes = 16;

std::optional<BaseRounding> rounding_of(const ImageFeatures& features, MetricSpec metric,
                                        const Context& context) {
  if (on_device(context)) return std::nullopt;
  return choose_rounding(metric, features.dtype(), features.dtype(), features.cols(),
                         isa_of(context));
}

}  // namespace

ReadyImages::ReadyImages(const ImageFeatures& features, MetricSpec metric, const Context& context)
    : features_(features),
      metric_(metric),
      context_(context),
      rounding_(rounding_of(features, metric, context)) {}

std::int64_t ReadyImages::bytes_of(std::int64_t image) const {
  const std::int64_t rows = features_.rows(image);
  std::int64_t bytes = kBytesBeside;
  if (!features_.in_memory(image)) {
    bytes += checked_mul(rows, row_bytes(features_.dtype(), features_.cols()), "bytes of an image");
  }
  if (rounding_) {
    bytes += checked_mul(round_up(rows, kGroupRows), RoundedRows::bytes_per_row(features_.cols()),
                         "bytes of an image");
    if (!rounding_->lossless) bytes += kCentreBytes * features_.cols();
  }
  return bytes;
}

std::int64_t ReadyImages::making_bytes() const {
  if (!rounding_) return 0;
  constexpr int kThreads = 1;  // each image by one, many side by side
  return prepared_bytes(0, features_.cols(), kThreads);
}

void ReadyImages::keep(const std::vector<std::int64_t>& images, int threads,
                       const Monitor& monitor) {
  forget_others(images);
  std::vector<Image*> fresh;
  for (const std::int64_t image : images) {
    if (images_.contains(image)) continue;
    monitor.check();
    read(image);
    fresh.push_back(&images_[image]);
  }
  std::int64_t bytes = 0;
  for (const auto& [image, kept] : images_) bytes += bytes_of(image);
  most_bytes_ = std::max(most_bytes_, bytes);
  if (!rounding_) return;
  run_tasks(static_cast<std::int64_t>(fresh.size()), threads, [&](std::int64_t task, int) {
    Image& image = *fresh[static_cast<std::size_t>(task)];
    image.prepared = prepare(image.rows, metric_, context_);
  });
}

MatrixRows ReadyImages::rows(std::int64_t image) const {
  const Image& kept = images_.at(image);
  return MatrixRows(kept.rows, kept.prepared ? &*kept.prepared : nullptr);
}

void ReadyImages::forget_others(const std::vector<std::int64_t>& images) {
  const std::unordered_set<std::int64_t> wanted(images.begin(), images.end());
  std::erase_if(images_, [&](const auto& kept) { return !wanted.contains(kept.first); });
}

void ReadyImages::check_read(std::int64_t image, MatrixView rows) const {
  if (rows.dtype() == features_.dtype() && rows.cols() == features_.cols() &&
      rows.rows() == features_.rows(image)) {
    return;
  }
  fail(ErrorCode::invalid_argument,
       "image {} was said to have {} x {} of {}, but what was read has {} x {} of {}", image,
       features_.rows(image), features_.cols(), to_string(features_.dtype()), rows.rows(),
       rows.cols(), to_string(rows.dtype()));
}

void ReadyImages::read(std::int64_t image) {
  Image& kept = images_[image];
  if (const auto view = features_.in_memory(image)) {
    kept.rows = *view;
  } else {
    kept.read = features_.read(image);
    kept.rows = kept.read.view();
    check_read(image, kept.rows);
  }
  ++images_read_;
}

}  // namespace nearfield
