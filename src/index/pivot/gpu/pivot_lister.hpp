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
  std::int64_t list_room = 0;   // rows, at least those of a run
  std::int64_t list_bytes = 0;  // of a row of a list
  bool streamed = false;        // runs are copied each time

  static constexpr std::int64_t kListers = 2;  // of a device

  // For the listers of a device, which share a limit. Throws memory_limit, which names the device.
  static ListerShape of(const ListerTask& task, std::int64_t limit, const gpu::Facts& facts,
                        std::int64_t chunk_rows, const std::string& id);

  // Rows of a run: a list of them must fit.
  std::int64_t least_room(const ListerTask& task) const;
  // Lists of no more than so many rows, or of those of a run.
  void cut_lists(std::int64_t rows, const ListerTask& task);

  // That a lister takes of the host, at most.
  std::int64_t host_bytes(const ListerTask& task) const;
};

class PivotLister final : public LevelLister {
 public:
  // copy: null where runs are streamed. Throws OutOfMemory where the device has no room for the
  // least of what the shape says: longer lists are made room for when they come.
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
  void list(std::span<const LevelRequest> requests, const FallingKeys* falling,
            const Take& take) override;

 private:
  const KeptRun& run_at(std::int64_t i);
  void make_room_in(std::unique_ptr<gpu::Buffer>& buffer, std::int64_t bytes);
  template <class Value>
  void write(std::span<const Value> values, std::unique_ptr<gpu::Buffer>& to);
  void reserve();
  bool make_lists(std::int64_t rows);
  [[noreturn]] void refuse_list(const LevelRequest& request, std::int64_t rows) const;
  Range all_runs() const { return {0, std::ssize(runs_)}; }
  std::int64_t first_chunk(std::int64_t run) const {
    return first_chunks_[static_cast<std::size_t>(run)];
  }
  void list_in(Range runs, std::span<const LevelRequest> requests, const Take& take);
  void list_by_runs(const LevelRequest& request, std::int64_t listed, const Take& take);
  RequestBuffers count_requested(Range runs, std::span<const LevelRequest> requests);
  void list_some(Range runs, std::span<const LevelRequest> requests, Range some,
                 const RequestBuffers& buffers, const Take& take);
  void take_keys(std::span<const LevelRequest> requests, Range some, const Take& take);
  void fill_lists(Range runs, Range some, const RequestBuffers& buffers);
  void read_listed(std::int64_t count, std::size_t to);

  const MetricState& state_;
  gpu::Device& device_;
  std::string id_;
  ListerShape shape_;
  std::int64_t least_;  // its least_room
  std::shared_ptr<const MetricDeviceCopy> copy_;
  std::vector<Range> runs_;
  std::vector<std::int64_t> first_chunks_;  // of each run, and how many there are of all
  const ObjectBounds* bounds_ = nullptr;
  const FallingKeys* falling_ = nullptr;  // of those that are listed
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
