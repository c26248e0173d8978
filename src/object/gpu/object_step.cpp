#include "object/gpu/object_step.hpp"

#include <algorithm>
#include <string_view>

#include "core/checked.hpp"

namespace nearfield {
namespace {

constexpr std::string_view kObjectModule = "object_distances";
constexpr std::string_view kCallersModule = "callers_distances";
// Each goes round: enough for any device.
constexpr std::int64_t kMostObjectBlocks = 1024;

std::uint32_t power_of(DeviceDistance distance) {
  if (distance == DeviceDistance::l1) return 1;
  return distance == DeviceDistance::l2 ? 2 : 0;
}

}  // namespace

ObjectKernel object_kernel(const ObjectMetric& metric, gpu::Device& device) {
  const DeviceDistance distance = device_distance(metric);
  if (distance != DeviceDistance::callers) return {distance, std::string(kObjectModule)};
  return {distance, device.link(kCallersModule, metric.device_source())};
}

void run_object_distances(gpu::Queue& queue, const ObjectKernel& kernel,
                          const DeviceQueries& queries, const DeviceObjects& objects,
                          const ListedBuffers& listed, const PairList& found) {
  const gpu::Grid grid{
      std::clamp<std::int64_t>(divide_up(listed.most_rows, queue.threads(kernel.module)), 1,
                               kMostObjectBlocks),
      listed.some.size()};
  const auto first_request = static_cast<std::uint32_t>(listed.some.begin);
  const auto part_begin = static_cast<std::uint32_t>(listed.part.begin);
  const auto part_end = static_cast<std::uint32_t>(listed.part.end);
  const auto first_row = static_cast<std::uint32_t>(objects.rows.begin);
  const auto row_count = static_cast<std::uint32_t>(objects.rows.size());
  const auto room = static_cast<std::uint32_t>(found.most);
  if (kernel.distance == DeviceDistance::edit) {
    queue.run({kernel.module, "edit_distances"}, grid,
              {listed.rows, listed.starts, listed.requests, listed.most, first_request, part_begin,
               part_end, queries.values(), static_cast<std::uint32_t>(queries.stride()),
               queries.sizes(), *objects.bytes, *objects.ends, first_row, row_count, *found.count,
               room, *found.places, *found.keys});
    return;
  }
  if (kernel.distance == DeviceDistance::callers) {
    queue.run({kernel.module, "callers_distances"}, grid,
              {listed.rows, listed.starts, listed.requests, listed.most, first_request, part_begin,
               part_end, queries.values(), queries.sizes(), *objects.bytes, *objects.ends,
               first_row, row_count, *found.count, room, *found.places, *found.keys});
    return;
  }
  queue.run({kernel.module, "number_distances"}, grid,
            {listed.rows, listed.starts, listed.requests, listed.most, first_request, part_begin,
             part_end, queries.values(), queries.sizes(), *objects.bytes, *objects.ends, first_row,
             row_count, power_of(kernel.distance), *found.count, room, *found.places, *found.keys});
}

}  // namespace nearfield
