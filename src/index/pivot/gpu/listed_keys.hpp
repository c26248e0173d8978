// Distances of listed rows, computed where the lists are.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "device/gpu/gpu.hpp"
#include "distance/gpu/pair_list.hpp"
#include "filter/gpu/pairs_by_query.hpp"
#include "filter/level_lister.hpp"
#include "index/pivot/metric_state.hpp"
#include "object/gpu/object_step.hpp"

namespace nearfield {

// What is asked of a metric that devices know.
struct KeyedSearch {
  DeviceDistance distance;
  std::span<const ObjectView> queries;  // of the whole search
  Isa isa;                              // for what the kernels leave to the CPU
};

class ListedKeys {
 public:
  // Of the host, for a row of a list: its number, where objects come in runs; its place, key and
  // number among the places; row and key as they are handed over; and as a sink is given them.
  static constexpr std::int64_t kHostBytesOfARow = 4 + (8 + 8 + 4) + (4 + 8) + (4 + 8);

  // copies: of all objects, null where they come in runs of so many bytes.
  ListedKeys(const MetricState& state, const KeyedSearch& search, gpu::Device& device,
             gpu::Queue& queue, const std::vector<DeviceObjects>* copies, std::int64_t run_bytes);

  // For lists of so many rows. Throws OutOfMemory.
  void reserve(std::int64_t rows);

  // What follows is about these.
  void start(Range queries);

  // As PivotLister has them, of all requests.
  struct Lists {
    const gpu::Buffer& requests;
    const gpu::Buffer& starts;
    const gpu::Buffer& rows;
  };
  // Of some requests that part of each list, in all so many rows.
  struct Asked {
    Range some;
    Range part;
    std::int64_t rows;
  };
  // What is of use of them, request by request.
  struct Found {
    std::span<const std::uint32_t> starts;
    std::span<const std::uint32_t> rows;
    std::span<const double> keys;
  };
  // There is room for them.
  Found find(std::span<const LevelRequest> requests, const Lists& lists, const Asked& asked);

 private:
  void run_kernels(const ListedBuffers& listed, std::int64_t rows);
  std::vector<Range> runs_of(const gpu::Buffer& listed, std::int64_t rows);
  void read_found();
  void sort_by_request(std::span<const LevelRequest> requests);
  void compute_unknown(const LevelRequest& request, std::span<const std::uint32_t> rows,
                       std::span<double> keys) const;

  const MetricState& state_;
  KeyedSearch search_;
  ObjectKernel kernel_;
  gpu::Device& device_;
  gpu::Queue& queue_;
  const std::vector<DeviceObjects>* copies_;
  std::vector<Range> runs_;
  DeviceObjects streamed_;
  PackedObjectBytes staging_;
  DeviceQueries queries_;
  std::unique_ptr<gpu::Buffer> most_;
  std::optional<PairList> list_;
  std::vector<double> host_most_;
  std::vector<std::uint32_t> listed_;
  std::vector<std::uint64_t> places_;
  std::vector<double> found_keys_;
  PairsByQuery by_request_;
  std::vector<std::uint32_t> starts_;
  std::vector<std::uint32_t> rows_;
  std::vector<double> keys_;
};

}  // namespace nearfield
