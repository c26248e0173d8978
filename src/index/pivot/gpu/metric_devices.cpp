#include "index/pivot/gpu/metric_devices.hpp"

#include <utility>

#include "core/fail.hpp"
#include "device/device_name.hpp"
#include "device/gpu/open.hpp"

namespace nearfield {
namespace {

// Null where the device refuses the memory.
std::shared_ptr<const MetricDeviceCopy> copy_of_index(const ListerTask& task, gpu::Device& device,
                                                      gpu::Queue& queue, const ListerShape& shape) {
  const MetricState& state = task.state;
  return state.copies->of<MetricDeviceCopy>(
      &device, [&]() -> std::shared_ptr<const MetricDeviceCopy> {
        try {
          auto copy = std::make_shared<MetricDeviceCopy>();
          const gpu::WaitAtEnd wait(queue);
          for (const Range& rows : kept_runs(state.filter, state.objects.size(), shape.run_rows)) {
            copy->runs.emplace_back().copy(state.filter, rows, device, queue);
          }
          queue.wait();
          if (task.distance == DeviceDistance::none) return copy;
          PackedObjectBytes staging;
          for (const Range& rows : object_runs(state.objects, shape.run_object_bytes)) {
            copy->objects.emplace_back().copy(state.objects, rows, staging, device, queue);
          }
          return copy;
        } catch (const gpu::OutOfMemory&) {
          return nullptr;
        }
      });
}

}  // namespace

OpenedListers open_listers(ListerTask task, const Context& context, std::string_view name) {
  const gpu::Opened opened = gpu::open_device(name);
  gpu::Device& device = opened.device;
  if (!device.facts().has_float64) {
    task.distance = DeviceDistance::none;
    task.keyed.reset();
  }
  auto queue = device.make_queue(context.stream);
  const std::int64_t chunk_rows = LevelStep::chunk_rows(*queue);
  std::int64_t limit = context.device_memory_limit.value_or(device.facts().memory);
  const auto shape_for = [&] {
    return ListerShape::of(task, limit, device.facts(), chunk_rows, opened.id);
  };
  OpenedListers result{opened.id, shape_for(), task.keyed.has_value(), {}};
  std::shared_ptr<const MetricDeviceCopy> copy;
  if (!result.shape.streamed) copy = copy_of_index(task, device, *queue, result.shape);
  while (copy == nullptr && !result.shape.streamed) {  // it has less than it says
    limit /= 2;
    result.shape = shape_for();
  }
  for (std::int64_t i = 0; i < ListerShape::kListers; ++i) {
    if (i > 0) queue = device.make_queue(context.stream);
    result.listers.push_back(std::make_unique<PivotLister>(task, device, std::move(queue),
                                                           opened.id, result.shape, copy));
  }
  return result;
}

MetricDevices::MetricDevices(const ListerTask& task, const Context& context) {
  check_kept_for_device(task.state.filter, *task.state.metric);
  for (const std::string_view name : split_devices(context.device)) {
    if (parse_device(name).kind == kCpu) {
      cpu_ = true;
    } else {
      members_.push_back({open_listers(task, context, name)});
    }
  }
}

std::int64_t MetricDevices::host_bytes() const {
  std::int64_t bytes = 0;
  for (const Member& member : members_) {
    const ListerShape& shape = member.opened.shape;
    const std::int64_t counts =
        shape.queries * kLevelCount * static_cast<std::int64_t>(sizeof(std::uint32_t));
    const std::int64_t staged = member.opened.keyed ? shape.run_object_bytes : 0;
    bytes += ListerShape::kListers * (shape.list_room * shape.list_bytes + counts + staged);
  }
  return bytes;
}

ListedCounts MetricDevices::scan(const ObjectBounds& bounds, std::int64_t first_rows,
                                 const RisingSteps& steps) {
  std::vector<LevelLister*> listers;
  for (const Member& member : members_) {
    for (const auto& lister : member.opened.listers) {
      lister->set_bounds(bounds);
      listers.push_back(lister.get());
    }
  }
  ListedCounts counts = scan_listed({listers, cpu_, first_rows}, steps);
  auto pairs = counts.pairs.begin();
  for (Member& member : members_) {
    for (std::size_t i = 0; i < member.opened.listers.size(); ++i) member.pairs += *pairs++;
  }
  all_pairs_ += counts.counts.considered;
  return counts;
}

void MetricDevices::add_to(Plan& plan) const {
  plan.filter += ", on the device";
  if (members_.front().opened.keyed) plan.kernel += ", on the device";
  plan.device.clear();
  for (const Member& member : members_) {
    plan.device += (plan.device.empty() ? "" : ",") + member.opened.id;
    if (all_pairs_ == 0 || (members_.size() == 1 && !cpu_)) continue;
    plan.note += fmt::format(
        "{}{} looked at {:.1f} % of the pairs", plan.note.empty() ? "" : "; ", member.opened.id,
        100 * static_cast<double>(member.pairs) / static_cast<double>(all_pairs_));
  }
  if (cpu_) plan.device += ",cpu";
}

}  // namespace nearfield
