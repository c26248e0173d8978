#include "object/gpu/compare_on_device.hpp"

#include <cmath>
#include <memory>
#include <vector>

#include "core/fail.hpp"
#include "core/infinity.hpp"
#include "object/gpu/object_step.hpp"

namespace nearfield {
namespace {

constexpr std::size_t kRequestWords = 3;  // as listed_rows.h has them

// Of `count` queries, all of `count` rows each.
class ListsOfAll {
 public:
  ListsOfAll(std::uint32_t count, gpu::Device& device, gpu::Queue& queue) : count_(count) {
    std::vector<std::uint32_t> rows;
    std::vector<std::uint32_t> starts{0};
    std::vector<std::uint32_t> requests(count * kRequestWords);
    for (std::uint32_t query = 0; query < count; ++query) {
      requests[query * kRequestWords] = query;
      for (std::uint32_t row = 0; row < count; ++row) rows.push_back(row);
      starts.push_back(static_cast<std::uint32_t>(rows.size()));
    }
    const std::vector<double> most(count, kInfinity);
    const gpu::WaitAtEnd wait(queue);
    copy_values(std::span<const std::uint32_t>(rows), device, queue, rows_);
    copy_values(std::span<const std::uint32_t>(starts), device, queue, starts_);
    copy_values(std::span<const std::uint32_t>(requests), device, queue, requests_);
    copy_values(std::span<const double>(most), device, queue, most_);
    queue.wait();
  }

  ListedBuffers buffers() const {
    return {*rows_, *starts_, *requests_, *most_, {0, count_}, {0, count_}, count_};
  }

 private:
  std::int64_t count_;
  std::unique_ptr<gpu::Buffer> rows_;
  std::unique_ptr<gpu::Buffer> starts_;
  std::unique_ptr<gpu::Buffer> requests_;
  std::unique_ptr<gpu::Buffer> most_;
};

// From each of them to each, row by row.
std::vector<double> distances_on_device(const ObjectMetric& metric, const ObjectList& some,
                                        std::span<const ObjectView> views, gpu::Device& device,
                                        gpu::Queue& queue) {
  const ObjectKernel kernel = object_kernel(metric, device);
  const std::size_t pairs = views.size() * views.size();
  PackedObjectBytes staging;
  DeviceObjects objects;
  objects.copy(some, {0, some.size()}, staging, device, queue);
  DeviceQueries queries;
  queries.copy(kernel.distance, views, device, queue);
  const ListsOfAll lists(static_cast<std::uint32_t>(views.size()), device, queue);
  const PairList found(device, static_cast<std::int64_t>(pairs));
  std::vector<std::uint64_t> places(pairs);
  std::vector<double> keys(pairs);
  const gpu::WaitAtEnd wait(queue);
  queue.fill(*found.count, 0);
  run_object_distances(queue, kernel, queries, objects, lists.buffers(), found);
  queue.read(*found.places, places.data());
  queue.read(*found.keys, keys.data());
  queue.wait();
  std::vector<double> in_order(pairs);
  for (std::size_t i = 0; i < pairs; ++i) {
    in_order[(places[i] >> 32) * views.size() + static_cast<std::uint32_t>(places[i])] = keys[i];
  }
  return in_order;
}

}  // namespace

void compare_on_device(const ObjectMetric& metric, const ObjectList& some,
                       std::span<const std::int64_t> ids, gpu::Device& device, gpu::Queue& queue) {
  std::vector<ObjectView> views;
  for (std::int64_t i = 0; i < some.size(); ++i) views.push_back(some.view(i));
  const std::vector<double> there = distances_on_device(metric, some, views, device, queue);
  std::vector<double> here(views.size());
  for (std::size_t i = 0; i < views.size(); ++i) {
    metric.distances(views[i], views, kInfinity, default_isa(), here);
    for (std::size_t j = 0; j < views.size(); ++j) {
      const double said = there[i * views.size() + j];
      // What is NaN on both is refused as soon as a search meets it.
      const bool same = said == here[j] || (std::isnan(said) && std::isnan(here[j]));
      if (same || said < 0) continue;
      fail(ErrorCode::invalid_argument,
           "the metric '{}' says {} from object {} to {} on {}, and {} on the CPU: its "
           "device_source must do the same operations in the same order, or be left out",
           metric.name(), said, ids[i], ids[j], device.facts().name, here[j]);
    }
  }
}

}  // namespace nearfield
