#include "bench/native/gpu/gemm_sift/batched_run.hpp"

#include <utility>

#include "bench/native/gpu/distance_tables.hpp"
#include "bench/native/gpu/measuring.hpp"
#include "bench/native/gpu/selection_runs.hpp"

namespace nearfield::bench {

BatchedRun::BatchedRun(gpu::Device& device, const BatchShape& shape, Fill fill)
    : device_(device), shape_(shape), fill_(std::move(fill)) {
  for (std::int64_t number = 0; number < shape.batches(); ++number) {
    items_.push_back(device.allocate(2 * shape.count(number) * kItemBytes));
  }
  for (std::int64_t i = 0; i < shape.queues; ++i) {
    Lane lane;
    lane.queue = device.make_queue(0);
    lane.table = device.allocate(shape.batch * shape.rows * std::int64_t{sizeof(float)});
    lane.wait_at_end = std::make_unique<gpu::WaitAtEnd>(*lane.queue);
    lanes_.push_back(std::move(lane));
  }
}

void BatchedRun::fill() { go(false); }

void BatchedRun::run() { go(true); }

void BatchedRun::go(bool select) {
  const DeviceSelector& selector = selector_named("two_nearest");
  for (std::int64_t number = 0; number < shape_.batches(); ++number) {
    Lane& lane = lanes_[place(number % shape_.queues)];
    fill_(*lane.queue, number, *lane.table);
    if (!select) continue;
    const SelectShape shape{shape_.count(number), shape_.rows, 2, false};
    selector.run({device_, *lane.queue, shape, *lane.table, *items_[place(number)]}, lane.scratch);
  }
  for (Lane& lane : lanes_) {
    lane.queue->wait();
    lane.scratch.clear();
  }
}

std::vector<DeviceItem> BatchedRun::read() {
  std::vector<DeviceItem> all;
  for (std::int64_t number = 0; number < shape_.batches(); ++number) {
    const auto items =
        read_values<DeviceItem>(*lanes_[0].queue, *items_[place(number)], 2 * shape_.count(number));
    all.insert(all.end(), items.begin(), items.end());
  }
  return all;
}

}  // namespace nearfield::bench
