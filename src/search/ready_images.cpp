#include "search/ready_images.hpp"

#include <algorithm>
#include <unordered_set>

#include "core/checked.hpp"
#include "core/tasks.hpp"
#include "device/device_name.hpp"

namespace nearfield {
namespace {

bool can_prepare(const ImageFeatures& features, MetricSpec metric, const Context& context) {
  return !on_device(context) && choose_rounding(metric, features.dtype(), features.dtype(),
                                                features.cols(), isa_of(context))
                                    .has_value();
}

}  // namespace

ReadyImages::ReadyImages(const ImageFeatures& features, MetricSpec metric, const Context& context)
    : features_(features),
      metric_(metric),
      context_(context),
      prepares_(can_prepare(features, metric, context)) {}

std::int64_t ReadyImages::bytes_of(std::int64_t image) const {
  const std::int64_t rows = features_.rows(image);
  std::int64_t bytes = 0;
  if (!features_.in_memory(image)) {
    bytes = checked_mul(rows, row_bytes(features_.dtype(), features_.cols()), "bytes of an image");
  }
  if (!prepares_) return bytes;
  constexpr int kThreads = 1;  // each image by one, many side by side
  return checked_add(bytes, prepared_bytes(rows, features_.cols(), kThreads), "bytes of an image");
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
  if (!prepares_) return;
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

void ReadyImages::read(std::int64_t image) {
  Image& kept = images_[image];
  if (const auto view = features_.in_memory(image)) {
    kept.rows = *view;
  } else {
    kept.read = features_.read(image);
    kept.rows = kept.read.view();
  }
  ++images_read_;
}

}  // namespace nearfield
