// Distances on a device: what the kernels of object_distances.cu and callers_distances.cu are
// given.
#pragma once

#include <cstdint>
#include <string>

#include "device/gpu/gpu.hpp"
#include "distance/gpu/pair_list.hpp"
#include "object/gpu/device_objects.hpp"

namespace nearfield {

// What computes distances on one device.
struct ObjectKernel {
  DeviceDistance distance;
  std::string module;
};

// Of a metric that devices know. Compiles what the metric brings, if it is the first time: throws
// as Device::link.
ObjectKernel object_kernel(const ObjectMetric& metric, gpu::Device& device);

// Rows of some requests, one behind the other.
struct ListedBuffers {
  const gpu::Buffer& rows;      // 32 bits each
  const gpu::Buffer& starts;    // of every request, 32 bits: where its rows begin, in a list of all
  const gpu::Buffer& requests;  // the query of each, and 64 bits more
  const gpu::Buffer& most;      // float64 of each: the distances that are of use
  Range some;                   // those that are listed
  Range part;                   // of each list, which rows are looked at
  std::int64_t most_rows;       // that one of them has in it
};

// Adds the pairs whose distance is of use: the request, from the first of these, and the row. Of
// what the kernels do not take the distance is -1, of what is none it is NaN.
void run_object_distances(gpu::Queue& queue, const ObjectKernel& kernel,
                          const DeviceQueries& queries, const DeviceObjects& objects,
                          const ListedBuffers& listed, const PairList& found);

}  // namespace nearfield
