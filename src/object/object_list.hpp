// Objects as bytes, one behind the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <nearfield/object_metric.hpp>

namespace nearfield {

// Those of a file first, which are read as they lie there, then those that were added.
class ObjectList {
 public:
  // Of a file, which `kept` keeps. Nothing of it is trusted.
  struct Stored {
    std::span<const std::uint64_t> offsets;  // one more than there are objects
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> kept;
  };

  // The metric says what an object may be, and must outlive this.
  explicit ObjectList(const ObjectMetric& metric) : metric_(&metric) {}
  ObjectList(const ObjectMetric& metric, Stored stored);

  std::int64_t size() const { return stored_count_ + std::ssize(ends_); }
  // With where each begins; a file's among them.
  std::int64_t bytes() const;

  // Throws corrupt_file where a file has none.
  ObjectView view(std::int64_t i) const {
    return i < stored_count_ ? stored_view(i) : added_view(i - stored_count_);
  }

  // For these to come, with no more room than an eighth beyond them.
  void reserve(std::span<const ObjectView> objects);
  void append(ObjectView object);
  // Takes back what was appended, down to so many.
  void truncate(std::int64_t size);

 private:
  ObjectView stored_view(std::int64_t i) const;
  ObjectView added_view(std::int64_t i) const {
    const std::size_t begin = i > 0 ? ends_[static_cast<std::size_t>(i - 1)] : 0;
    return {bytes_.data() + begin, ends_[static_cast<std::size_t>(i)] - begin};
  }

  const ObjectMetric* metric_;
  Stored stored_;
  std::int64_t stored_count_ = 0;
  std::vector<std::byte> bytes_;
  std::vector<std::uint64_t> ends_;
};

// Throws invalid_argument for an alignment that memory has not, and for a slack that is no part of
// a distance.
void check_usable(const ObjectMetric& metric);

// Throws invalid_argument for one whose size is no multiple of the alignment: objects lie behind
// each other.
void check_object(const ObjectMetric& metric, ObjectView object, std::int64_t number);

}  // namespace nearfield
