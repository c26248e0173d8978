// Lists of rows by their lower bounds, made on a device.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/gpu/gpu.hpp"
#include "filter/level_lister.hpp"
#include "index/pivot/gpu/kept_run.hpp"
#include "index/pivot/gpu/level_step.hpp"
#include "index/pivot/gpu/listed_keys.hpp"
#include "index/pivot/metric_state.hpp"

namespace nearfield {

// All that kernels read of an index, where a device has room for it.
struct MetricDeviceCopy {
  std::vector<KeptRun> runs;
  std::vector<DeviceObjects> objects;  // none where the metric runs on the CPU
};

// What listers are asked to do.
struct ListerTask {
  const MetricState& state;
  std::int64_t queries;              // at most, at a time
  DeviceDistance distance;           // of which objects are kept on the device
  std::optional<KeyedSearch> keyed;  // where distances are computed there
};

// How a lister uses the memory of its device.
struct ListerShape {
  std::int64_t limit = 0;    // bytes it may take, beside a copy of the index
  std::int64_t queries = 1;  // at a time
  std::int64_t run_rows = 0;
  std::int64_t run_object_bytes = 0;
  std::int64_t list_room = 0;   // rows
  std::int64_t list_bytes = 0;  // of a row of a list
  bool streamed = false;        // runs are copied each time

  static constexpr std::int64_t kListers = 2;  // of a device

  // For the listers of a device, which share a limit. Throws memory_limit, which names the device.
  static ListerShape of(const ListerTask& task, std::int64_t limit, const gpu::Facts& facts,
                        std::int64_t chunk_rows, const std::string& id);
};

class PivotLister final : public LevelLister {
 public:
  // copy: null where runs are streamed.
  PivotLister(const ListerTask& task, gpu::Device& device, std::unique_ptr<gpu::Queue> queue,
              std::string id, const ListerShape& shape,
              std::shared_ptr<const MetricDeviceCopy> copy);
  ~PivotLister() override;

  // Queries of this one are asked for from here on.
  void set_bounds(const ObjectBounds& bounds);

  std::int64_t most_queries() const override { return shape_.queries; }
  bool keyed() const override { return keys_.has_value(); }
  void start(Range queries) override;
  void count(std::span<std::uint32_t> counts) override;
  void list(std::span<const LevelRequest> requests, const Take& take) override;

 private:
  const KeptRun& run_at(std::size_t i);
  void make_room_in(std::unique_ptr<gpu::Buffer>& buffer, std::int64_t bytes);
  template <class Value>
  void write(std::span<const Value> values, std::unique_ptr<gpu::Buffer>& to);
  RequestBuffers count_requested(std::span<const LevelRequest> requests);
  void list_some(std::span<const LevelRequest> requests, Range some, const RequestBuffers& buffers,
                 const Take& take);
  void take_listed(std::span<const LevelRequest> requests, std::span<const std::uint32_t> starts,
                   const Take& take);

  const MetricState& state_;
  gpu::Device& device_;
  std::string id_;
  ListerShape shape_;
  std::shared_ptr<const MetricDeviceCopy> copy_;
  std::vector<Range> runs_;
  std::vector<std::int64_t> first_chunks_;  // of each run, and how many there are of all
  const ObjectBounds* bounds_ = nullptr;
  std::optional<LevelStep> step_;
  Range queries_;
  KeptRun streamed_;
  std::vector<std::uint16_t> host_reaches_;
  std::vector<std::uint32_t> host_requests_;
  std::vector<std::uint32_t> totals_;
  std::vector<std::uint32_t> starts_;
  std::vector<std::uint32_t> rows_;
  std::vector<std::uint8_t> levels_;
  std::unique_ptr<gpu::Buffer> reaches_;
  std::unique_ptr<gpu::Buffer> letters_;
  std::unique_ptr<gpu::Buffer> counts_;
  std::unique_ptr<gpu::Buffer> requests_;
  std::unique_ptr<gpu::Buffer> sums_;
  std::unique_ptr<gpu::Buffer> device_totals_;
  std::unique_ptr<gpu::Buffer> device_starts_;
  std::unique_ptr<gpu::Buffer> listed_rows_;
  std::unique_ptr<gpu::Buffer> listed_levels_;
  std::optional<ListedKeys> keys_;
  // The last: what it still has to do reads and writes the others.
  std::unique_ptr<gpu::Queue> queue_;
};

}  // namespace nearfield
