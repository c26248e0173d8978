// Selections by kernels alone, from values on the device.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nearfield/select.hpp>

#include "bench/native/gpu/measuring.hpp"
#include "select/gpu/selectors.hpp"

namespace nearfield::bench {

// Throws where selectors.def has none of that name.
const DeviceSelector& selector_named(std::string_view name);

using Select = std::function<void(const SelectJob&, Scratch&)>;

// Rows of values on the device, which are selected from again and again. What a selection allocates
// on its way is in its time.
class SelectionRun {
 public:
  SelectionRun(gpu::Device& device, gpu::Queue& queue, const gpu::Buffer& values,
               const SelectShape& shape, Select select);

  void run();
  std::vector<DeviceItem> read() const;
  const SelectShape& shape() const { return shape_; }

 private:
  gpu::Device& device_;
  gpu::Queue& queue_;
  const gpu::Buffer& values_;
  const SelectShape shape_;
  const Select select_;
  const std::unique_ptr<gpu::Buffer> items_;
};

// Distances on the device, and what the CPU selects of them.
class Distances {
 public:
  // most_k: of all selections.
  Distances(const Measuring& measuring, std::int64_t queries, std::int64_t rows,
            std::int64_t most_k);

  Contender select(const std::string& series, std::int64_t k, Select select) const;
  // The values copied to another place of the device.
  Contender copy() const;

 private:
  void check(const std::string& series, const SelectionRun& run) const;

  gpu::Device& device_;
  gpu::Queue& queue_;
  const std::int64_t queries_;
  const std::int64_t rows_;
  const std::vector<float> values_;
  const std::unique_ptr<gpu::Buffer> on_device_;
  const Selected expected_;
};

}  // namespace nearfield::bench
