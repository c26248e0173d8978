// Whether what a metric brings for devices computes what it computes itself.
#pragma once

#include <cstdint>
#include <span>

#include "device/gpu/gpu.hpp"
#include "object/object_list.hpp"

namespace nearfield {

// Each of some objects with each. Throws invalid_argument where a distance has other bits there
// than on the CPU, and names the objects by their ids. That nothing differs proves nothing.
void compare_on_device(const ObjectMetric& metric, const ObjectList& some,
                       std::span<const std::int64_t> ids, gpu::Device& device, gpu::Queue& queue);

}  // namespace nearfield
