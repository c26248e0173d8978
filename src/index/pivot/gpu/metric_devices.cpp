#include "index/pivot/gpu/metric_devices.hpp"

#include <utility>

#include "core/fail.hpp"
#include "device/device_name.hpp"
#include "device/gpu/open.hpp"

namespace nearfield {
namespace {

// Null where the device refuses the memory.
std::shared_ptr<const MetricDeviceCopy> copy_of_index(const MetricState& state, gpu::Device& device,
                                                      gpu::Queue& queue, std::int64_t run_rows) {
  return state.copies->of<MetricDeviceCopy>(
      &device, [&]() -> std::shared_ptr<const MetricDeviceCopy> {
        try {
          auto copy = std::make_shared<MetricDeviceCopy>();
          const gpu::WaitAtEnd wait(queue);
          for (const Range& rows : kept_runs(state.filter, state.objects.size(), run_rows)) {
            copy->runs.emplace_back().copy(state.filter, rows, device, queue);
          }
          queue.wait();
          return copy;
        } catch (const gpu::OutOfMemory&) {
          return nullptr;
        }
      });
}

}  // namespace

MetricDevices::MetricDevices(const MetricState& state, std::int64_t queries,
                             const Context& context) {
  check_kept_for_device(state.filter, *state.metric);
  for (const std::string_view name : split_devices(context.device)) {
    if (parse_device(name).kind == kCpu) {
      cpu_ = true;
    } else {
      open(state, queries, context, name);
    }
  }
}

void MetricDevices::open(const MetricState& state, std::int64_t queries, const Context& context,
                         std::string_view name) {
  const gpu::Opened opened = gpu::open_device(name);
  gpu::Device& device = opened.device;
  auto queue = device.make_queue(context.stream);
  const std::int64_t chunk_rows = LevelStep::chunk_rows(*queue);
  std::int64_t limit = context.device_memory_limit.value_or(device.facts().memory);
  const auto shape_for = [&] {
    return ListerShape::of(state, queries, limit, device.facts(), chunk_rows, opened.id);
  };
  Member& member = members_.emplace_back(Member{opened.id, shape_for(), {}});
  std::shared_ptr<const MetricDeviceCopy> copy;
  if (!member.shape.streamed) {
    copy = copy_of_index(state, device, *queue, member.shape.run_rows);
  }
  while (copy == nullptr && !member.shape.streamed) {  // it has less than it says
    limit /= 2;
    member.shape = shape_for();
  }
  for (std::int64_t i = 0; i < ListerShape::kListers; ++i) {
    if (i > 0) queue = device.make_queue(context.stream);
    member.listers.push_back(std::make_unique<PivotLister>(state, device, std::move(queue),
                                                           opened.id, member.shape, copy));
  }
}

std::int64_t MetricDevices::host_bytes() const {
  std::int64_t bytes = 0;
  for (const Member& member : members_) {
    bytes += ListerShape::kListers * (member.shape.list_room * ListerShape::kListedRowBytes +
                                      member.shape.queries * kLevelCount *
                                          static_cast<std::int64_t>(sizeof(std::uint32_t)));
  }
  return bytes;
}

ListedCounts MetricDevices::scan(const ObjectBounds& bounds, std::int64_t first_rows,
                                 const RisingSteps& steps) {
  std::vector<LevelLister*> listers;
  for (const Member& member : members_) {
    for (const auto& lister : member.listers) {
      lister->set_bounds(bounds);
      listers.push_back(lister.get());
    }
  }
  ListedCounts counts = scan_listed({listers, cpu_, first_rows}, steps);
  auto pairs = counts.pairs.begin();
  for (Member& member : members_) {
    for (std::size_t i = 0; i < member.listers.size(); ++i) member.pairs += *pairs++;
  }
  all_pairs_ += counts.counts.considered;
  return counts;
}

void MetricDevices::add_to(Plan& plan) const {
  plan.filter += ", on the device";
  plan.device.clear();
  for (const Member& member : members_) {
    plan.device += (plan.device.empty() ? "" : ",") + member.id;
    if (all_pairs_ == 0 || (members_.size() == 1 && !cpu_)) continue;
    plan.note += fmt::format(
        "{}{} looked at {:.1f} % of the pairs", plan.note.empty() ? "" : "; ", member.id,
        100 * static_cast<double>(member.pairs) / static_cast<double>(all_pairs_));
  }
  if (cpu_) plan.device += ",cpu";
}

}  // namespace nearfield
