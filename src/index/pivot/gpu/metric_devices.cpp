#include "index/pivot/gpu/metric_devices.hpp"

#include <algorithm>
#include <utility>

#include "core/fail.hpp"
#include "device/device_name.hpp"
#include "device/gpu/open.hpp"
#include "object/gpu/compare_on_device.hpp"

namespace nearfield {
namespace {

// Throws OutOfMemory.
std::shared_ptr<const MetricDeviceCopy> copy_of_index(const ListerTask& task, gpu::Device& device,
                                                      gpu::Queue& queue, const ListerShape& shape) {
  const MetricState& state = task.state;
  return state.copies->of<MetricDeviceCopy>(
      &device, [&]() -> std::shared_ptr<const MetricDeviceCopy> {
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
      });
}

// Over all rows, those that are there: at most 12, in so many bytes.
std::vector<std::int64_t> some_live_rows(const MetricState& state, std::int64_t most_bytes) {
  constexpr std::int64_t kSome = 12;
  const std::span<const std::uint64_t> live = state.ids.live_bits();
  const std::int64_t all = state.objects.size();
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < kSome; ++i) {
    std::int64_t row = std::max(all * i / kSome, rows.empty() ? 0 : rows.back() + 1);
    while (row < all && !live.empty() &&
           (live[static_cast<std::size_t>(row / 64)] >> (row % 64) & 1) == 0) {
      ++row;
    }
    if (row >= all) break;
    most_bytes -= std::ssize(state.objects.view(row));
    if (most_bytes < 0 && !rows.empty()) break;
    rows.push_back(row);
  }
  return rows;
}

struct ComparedMetric {};

// Once for the objects that are there, and for each search that streams them.
void compare_callers_metric(const DeviceListers& on, gpu::Queue& queue) {
  const MetricState& state = on.task.state;
  state.copies->of<ComparedMetric>(&on.device, [&]() -> std::shared_ptr<const ComparedMetric> {
    ObjectList some(*state.metric);
    std::vector<std::int64_t> ids;
    // They are there twice, as queries too, beside what a lister takes later.
    for (const std::int64_t row : some_live_rows(state, on.shape.limit / 4)) {
      some.append(state.objects.view(row));
      ids.push_back(state.ids.ids()[static_cast<std::size_t>(row)]);
    }
    if (ids.empty()) return nullptr;  // all were removed
    compare_on_device(*state.metric, some, ids, on.device, queue);
    return std::make_shared<const ComparedMetric>();
  });
}

}  // namespace

DeviceListers plan_listers(ListerTask task, const Context& context, std::string_view name) {
  const gpu::Opened opened = gpu::open_device(name);
  const gpu::Facts& facts = opened.device.facts();
  if (!facts.has_float64) {
    task.distance = DeviceDistance::none;
    task.keyed.reset();
  }
  const std::int64_t limit = context.device_memory_limit.value_or(facts.memory);
  const std::int64_t chunk_rows = LevelStep::chunk_rows(*opened.device.make_queue(context.stream));
  const ListerShape shape = ListerShape::of(task, limit, facts, chunk_rows, opened.id);
  return {opened.id, opened.device, task, limit, chunk_rows, shape};
}

void open_listers(DeviceListers& on, const Context& context) {
  for (;;) {
    try {
      std::vector<std::unique_ptr<gpu::Queue>> queues;
      while (std::ssize(queues) < ListerShape::kListers) {
        queues.push_back(on.device.make_queue(context.stream));
      }
      std::shared_ptr<const MetricDeviceCopy> copy;
      if (on.shape.streamed) {
        on.task.state.copies->forget(&on.device);
      } else {
        copy = copy_of_index(on.task, on.device, *queues.front(), on.shape);
      }
      if (on.task.keyed && on.task.distance == DeviceDistance::callers) {
        compare_callers_metric(on, *queues.front());
      }
      for (auto& queue : queues) {
        on.listers.push_back(std::make_unique<PivotLister>(on.task, on.device, std::move(queue),
                                                           on.id, on.shape, copy));
      }
      return;
    } catch (const gpu::OutOfMemory&) {  // it has less than it says
      on.listers.clear();
    }
    const std::int64_t room = on.shape.list_room;
    do {
      on.limit /= 2;
      on.shape = ListerShape::of(on.task, on.limit, on.device.facts(), on.chunk_rows, on.id);
    } while (!on.shape.streamed);
    on.shape.cut_lists(room, on.task);
  }
}

void open_named_devices(const Context& context) {
  for (const std::string_view name : split_devices(context.device)) {
    if (parse_device(name).kind != kCpu) gpu::open_device(name);
  }
}

MetricDevices::MetricDevices(const ListerTask& task, const Context& context)
    : context_(context), keyed_(task.keyed.has_value()) {
  check_kept_for_device(task.state.filter, *task.state.metric);
  for (const std::string_view name : split_devices(context.device)) {
    if (parse_device(name).kind == kCpu) {
      cpu_ = true;
    } else {
      members_.push_back({plan_listers(task, context, name)});
    }
  }
}

std::int64_t MetricDevices::host_bytes() const {
  std::int64_t bytes = 0;
  for (const Member& member : members_) {
    bytes += ListerShape::kListers * member.on.shape.host_bytes(member.on.task);
  }
  return bytes;
}

bool MetricDevices::halve_lists() {
  const std::int64_t before = host_bytes();
  for (Member& member : members_) {
    member.on.shape.cut_lists(member.on.shape.list_room / 2, member.on.task);
  }
  return host_bytes() < before;
}

void MetricDevices::open() {
  for (Member& member : members_) open_listers(member.on, context_);
}

ListedCounts MetricDevices::scan(const ObjectBounds& bounds, std::int64_t first_rows,
                                 const RisingSteps& steps) {
  std::vector<LevelLister*> listers;
  for (const Member& member : members_) {
    for (const auto& lister : member.on.listers) {
      lister->set_bounds(bounds);
      listers.push_back(lister.get());
    }
  }
  ListedCounts counts = scan_listed({listers, cpu_, first_rows}, steps);
  auto pairs = counts.pairs.begin();
  for (Member& member : members_) {
    for (std::size_t i = 0; i < member.on.listers.size(); ++i) member.pairs += *pairs++;
  }
  all_pairs_ += counts.counts.considered;
  return counts;
}

void MetricDevices::add_to(Plan& plan) const {
  const auto add_note = [&](const std::string& note) {
    plan.note += (plan.note.empty() ? "" : "; ") + note;
  };
  const auto computes = [](const Member& member) { return member.on.task.keyed.has_value(); };
  plan.filter += ", on the device";
  if (std::ranges::any_of(members_, computes)) plan.kernel += ", on the device";
  plan.device.clear();
  for (const Member& member : members_) {
    plan.device += (plan.device.empty() ? "" : ",") + member.on.id;
    if (keyed_ && !computes(member)) {
      add_note(member.on.id + " has no float64 and leaves distances to the CPU");
    }
    if (all_pairs_ == 0 || (members_.size() == 1 && !cpu_)) continue;
    add_note(
        fmt::format("{} looked at {:.1f} % of the pairs", member.on.id,
                    100 * static_cast<double>(member.pairs) / static_cast<double>(all_pairs_)));
  }
  if (cpu_) plan.device += ",cpu";
}

}  // namespace nearfield
