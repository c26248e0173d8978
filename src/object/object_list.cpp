#include "object/object_list.hpp"

#include <cmath>
#include <utility>

#include "core/fail.hpp"
#include "core/grow_room.hpp"

namespace nearfield {

ObjectList::ObjectList(const ObjectMetric& metric, Stored stored)
    : metric_(&metric),
      stored_(std::move(stored)),
      stored_count_(std::ssize(stored_.offsets) - 1) {}

std::int64_t ObjectList::bytes() const {
  return std::ssize(stored_.bytes) + std::ssize(bytes_) +
         (std::ssize(stored_.offsets) + std::ssize(ends_)) *
             static_cast<std::int64_t>(sizeof(std::uint64_t));
}

ObjectView ObjectList::stored_view(std::int64_t i) const {
  const std::uint64_t begin = stored_.offsets[static_cast<std::size_t>(i)];
  const std::uint64_t end = stored_.offsets[static_cast<std::size_t>(i + 1)];
  const auto alignment = static_cast<std::uint64_t>(metric_->alignment());
  // A power of two.
  if (begin > end || end > stored_.bytes.size() || (begin | end) % alignment != 0) {
    fail(ErrorCode::corrupt_file,
         "object {} is said to be at bytes {} to {} of {}, at multiples of {}", i, begin, end,
         stored_.bytes.size(), alignment);
  }
  const ObjectView object = stored_.bytes.subspan(begin, end - begin);
  if (!metric_->valid(object)) {
    fail(ErrorCode::corrupt_file, "object {}, of {} bytes, is none for the metric '{}'", i,
         object.size(), metric_->name());
  }
  return object;
}

void ObjectList::reserve(std::span<const ObjectView> objects) {
  std::size_t bytes = 0;
  for (const ObjectView object : objects) bytes += object.size();
  grow_room(bytes_, bytes);
  grow_room(ends_, objects.size());
}

void ObjectList::append(ObjectView object) {
  bytes_.insert(bytes_.end(), object.begin(), object.end());
  ends_.push_back(bytes_.size());
}

void ObjectList::truncate(std::int64_t size) {
  ends_.resize(static_cast<std::size_t>(size - stored_count_));
  bytes_.resize(ends_.empty() ? 0 : ends_.back());
}

// Objects lie behind each other in memory that begins at a multiple of 16.
void check_usable(const ObjectMetric& metric) {
  constexpr std::int64_t kMostAlignment = 16;
  const std::int64_t alignment = metric.alignment();
  if (alignment < 1 || alignment > kMostAlignment || kMostAlignment % alignment != 0) {
    fail(ErrorCode::invalid_argument, "objects are aligned to 1, 2, 4, 8 or 16 bytes, got {}",
         alignment);
  }
  // Bounds that are raised by it instead of lowered, or are NaN, would lose neighbours.
  if (const double slack = metric.slack(); !(slack >= 0) || std::isinf(slack)) {
    fail(ErrorCode::invalid_argument,
         "the slack of the metric '{}' is {}: it is a part of a distance, 0 or more and finite",
         metric.name(), slack);
  }
}

void check_object(const ObjectMetric& metric, ObjectView object, std::int64_t number) {
  const auto alignment = static_cast<std::size_t>(metric.alignment());
  if (object.size() % alignment != 0 || !metric.valid(object)) {
    fail(ErrorCode::invalid_argument,
         "object {} has {} bytes, which the metric '{}' does not take: whole ones of {}", number,
         object.size(), metric.name(), alignment);
  }
}

}  // namespace nearfield
