#include "select/measure_selectors.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

#include <nearfield/select.hpp>

#include "core/fail.hpp"
#include "device/gpu/open.hpp"
#include "device/timed_rounds.hpp"
#include "select/gpu/select_on_device.hpp"
#include "select/gpu/selectors.hpp"

namespace nearfield {
namespace {

class SelectorTimer {
 public:
  SelectorTimer(const TuningShape& shape, std::span<const float> values, const Context& context,
                const Monitor& monitor)
      : shape_{shape.queries, shape.rows, shape.k, false},
        values_(values.data(), shape.queries, shape.rows),
        context_(context),
        monitor_(monitor),
        opened_(gpu::open_device(context.device)),
        selectors_(selectors_for(shape.k)) {}

  bool fits() const {
    const gpu::Facts& facts = opened_.device.facts();
    std::int64_t scratch = 0;
    for (const DeviceSelector* const selector : selectors_) {
      scratch = std::max(scratch, selector->scratch_bytes(shape_));
    }
    return value_bytes() + item_bytes() + scratch <=
           context_.device_memory_limit.value_or(facts.memory);
  }

  void check_answers() const {
    const SelectOptions options{.k = shape_.k};
    Context on_cpu = context_;
    on_cpu.device.clear();
    on_cpu.device_memory_limit.reset();
    on_cpu.stream = 0;
    const Selected expected = select_k(values_, options, on_cpu);
    for (const DeviceSelector* const selector : selectors_) {
      const Selected found = select_on_device({values_}, options, context_, selector);
      if (found.ids == expected.ids && found.values == expected.values) continue;
      fail(ErrorCode::unsupported,
           "{} selects {} of {} x {} values by {} otherwise than the CPU: leave this device alone, "
           "and report its driver, {}",
           opened_.id, shape_.k, shape_.rows, shape_.cols, selector->name,
           opened_.device.facts().driver);
    }
  }

  std::vector<Timing> measure() const {
    const auto queue = opened_.device.make_queue(context_.stream);
    const auto values = opened_.device.allocate(value_bytes());
    const auto items = opened_.device.allocate(item_bytes());
    queue->write(*values, values_.row(0));
    queue->wait();
    std::vector<std::string_view> names;
    for (const DeviceSelector* const selector : selectors_) names.push_back(selector->name);
    return timed_rounds(names, [&](std::size_t i) {
      monitor_.check();
      Scratch scratch;
      const gpu::WaitAtEnd before_it_goes(*queue);
      const auto start = Monitor::Clock::now();
      selectors_[i]->run({opened_.device, *queue, shape_, *values, *items}, scratch);
      queue->wait();
      return std::chrono::duration<double>(Monitor::Clock::now() - start).count();
    });
  }

 private:
  std::int64_t value_bytes() const { return shape_.rows * shape_.cols * std::int64_t{4}; }
  std::int64_t item_bytes() const { return shape_.rows * shape_.k * kItemBytes; }

  const SelectShape shape_;
  const ValuesView values_;
  const Context& context_;
  const Monitor& monitor_;
  const gpu::Opened opened_;
  const std::vector<const DeviceSelector*> selectors_;
};

}  // namespace

std::optional<TuningPoint> measure_selectors(const TuningShape& shape,
                                             std::span<const float> values, const Context& context,
                                             const Monitor& monitor) {
  const SelectorTimer timer(shape, values, context, monitor);
  if (!timer.fits()) return std::nullopt;
  try {
    timer.check_answers();
    return TuningPoint{shape, timer.measure()};
  } catch (const gpu::OutOfMemory&) {
    return std::nullopt;
  }
}

}  // namespace nearfield
