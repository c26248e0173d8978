#include "bench/native/gpu/selection_runs.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "bench/native/gpu/distance_tables.hpp"
#include "bench/native/gpu/uniform.hpp"

namespace nearfield::bench {
namespace {

constexpr std::int64_t kFloatBytes = sizeof(float);

std::int64_t place_of(DeviceItem item) { return static_cast<std::int64_t>(item & 0xFFFFFFFF); }

}  // namespace

const DeviceSelector& selector_named(std::string_view name) {
  const auto all = device_selectors();
  const auto found = std::find_if(all.begin(), all.end(), [&](const DeviceSelector& selector) {
    return selector.name == name;
  });
  if (found == all.end()) throw std::runtime_error(fmt::format("no selector is named {}", name));
  return *found;
}

SelectionRun::SelectionRun(gpu::Device& device, gpu::Queue& queue, const gpu::Buffer& values,
                           const SelectShape& shape, Select select)
    : device_(device),
      queue_(queue),
      values_(values),
      shape_(shape),
      select_(std::move(select)),
      items_(device.allocate(shape.rows * shape.k * kItemBytes)) {}

void SelectionRun::run() {
  Scratch scratch;
  const gpu::WaitAtEnd before_scratch_ends(queue_);
  select_({device_, queue_, shape_, values_, *items_}, scratch);
  queue_.wait();
}

std::vector<DeviceItem> SelectionRun::read() const {
  return read_values<DeviceItem>(queue_, *items_, shape_.rows * shape_.k);
}

Distances::Distances(const Measuring& measuring, std::int64_t queries, std::int64_t rows,
                     std::int64_t most_k)
    : device_(measuring.device()),
      queue_(measuring.queue()),
      queries_(queries),
      rows_(rows),
      values_(uniform_distances(queries, rows)),
      on_device_(device_.allocate(queries * rows * kFloatBytes)),
      expected_(select_k(ValuesView(values_.data(), queries, rows), {.k = most_k})) {
  queue_.write(*on_device_, values_.data());
  queue_.wait();
}

Contender Distances::select(const std::string& series, std::int64_t k, Select select) const {
  const auto run = std::make_shared<SelectionRun>(
      device_, queue_, *on_device_, SelectShape{queries_, rows_, k, false}, std::move(select));
  return {series, Timed::kernels, [=] { run->run(); }, [=, this] { check(series, *run); }};
}

// The first k are the first of the most.
void Distances::check(const std::string& series, const SelectionRun& run) const {
  const std::vector<DeviceItem> items = run.read();
  const std::int64_t k = run.shape().k;
  for (std::int64_t i = 0; i < queries_ * k; ++i) {
    const std::int64_t expected = expected_.ids_of(i / k)[place(i % k)];
    if (place_of(items[place(i)]) == expected) continue;
    fail_check(series, fmt::format("place {} of row {} is {}, the CPU's is {} (n {}, k {})", i % k,
                                   i / k, place_of(items[place(i)]), expected, rows_, k));
  }
}

Contender Distances::copy() const {
  const std::shared_ptr<gpu::Buffer> to = device_.allocate(on_device_->bytes());
  const std::int64_t bytes = on_device_->bytes();
  return {"copy within the device", Timed::copy,
          [=, this] {
            queue_.copy(*to, *on_device_, {1, bytes, bytes, bytes});
            queue_.wait();
          },
          [=, this] {
            if (read_values<float>(queue_, *to, std::ssize(values_)) != values_) {
              fail_check("copy within the device", "values differ");
            }
          }};
}

}  // namespace nearfield::bench
