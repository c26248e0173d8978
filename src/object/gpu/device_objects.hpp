// Objects in the memory of a device, and the queries that are compared with them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device/gpu/gpu.hpp"
#include "filter/filter.hpp"
#include "object/device_distance.hpp"
#include "object/object_list.hpp"

namespace nearfield {

// Takes the place of what was there, and makes room for it. Until the queue is waited for, the
// values must stay.
template <class Value>
void copy_values(std::span<const Value> values, gpu::Device& device, gpu::Queue& queue,
                 std::unique_ptr<gpu::Buffer>& to) {
  constexpr std::int64_t kLeast = 64;  // no device has memory of no bytes
  const auto bytes = static_cast<std::int64_t>(values.size_bytes());
  if (to == nullptr || to->bytes() < bytes) {
    to.reset();
    to = device.allocate(std::max(bytes, kLeast));
  }
  if (bytes > 0) queue.write(*to, values.data(), {1, bytes, bytes, bytes});
}

// Some bytes behind each other, as they are copied.
class PackedObjectBytes {
 public:
  // Nothing, with room for so many. The old memory is released first.
  void start(std::size_t objects, std::size_t bytes);
  void add(ObjectView object);

  std::span<const std::byte> bytes() const { return bytes_; }
  std::span<const std::uint32_t> ends() const { return ends_; }  // 0 first

 private:
  std::vector<std::byte> bytes_;
  std::vector<std::uint32_t> ends_;
};

// Of some rows.
struct DeviceObjects {
  // Bytes of a copy at a time, which the host has beside the index.
  static constexpr std::int64_t kMostBytes = std::int64_t{32} << 20;
  static constexpr std::int64_t kRowBytes = sizeof(std::uint32_t);  // beside the object itself

  Range rows;
  std::unique_ptr<gpu::Buffer> bytes;
  std::unique_ptr<gpu::Buffer> ends;  // 32 bits: where each begins, and where the last ends

  // Takes the place of what it had; waits until it is there.
  void copy(const ObjectList& objects, Range rows, PackedObjectBytes& staging, gpu::Device& device,
            gpu::Queue& queue);
};

// All rows in runs of at most so many bytes, of which an object may take more alone.
std::vector<Range> object_runs(const ObjectList& objects, std::int64_t most_bytes);

// What kernels know of queries.
class DeviceQueries {
 public:
  // The most that one of them takes of a device.
  static std::int64_t bytes_of_one(DeviceDistance distance, std::span<const ObjectView> queries);

  // Takes the place of those it had; waits until they are there.
  void copy(DeviceDistance distance, std::span<const ObjectView> queries, gpu::Device& device,
            gpu::Queue& queue);

  // Of edits: where each letter stands, `stride` words of 64 places; else the bytes.
  const gpu::Buffer& values() const { return *values_; }
  // Of edits: how many symbols; else where the bytes of each begin, and the last end.
  const gpu::Buffer& sizes() const { return *sizes_; }
  std::int64_t stride() const { return stride_; }

 private:
  void copy_patterns(std::span<const ObjectView> queries, gpu::Device& device, gpu::Queue& queue);

  std::unique_ptr<gpu::Buffer> values_;
  std::unique_ptr<gpu::Buffer> sizes_;
  std::int64_t stride_ = 1;
};

}  // namespace nearfield
