// Thresholds for queries that have none yet: a matrix of bounds of some rows, and a selection from
// it. What is then found of these rows is about as much as is wanted, and not all of them.
#pragma once

#include <cstdint>
#include <span>

#include "device/gpu/gpu.hpp"
#include "filter/gpu/pair_finder.hpp"
#include "select/gpu/selectors.hpp"

namespace nearfield {

class FirstThresholds {
 public:
  // rank: of the row whose bound is the threshold. most_bytes: on the device.
  FirstThresholds(gpu::Device& device, const BoundedFinder& finder, std::int64_t rank,
                  std::int64_t most_bytes)
      : device_(device), finder_(finder), rank_(rank), most_bytes_(most_bytes) {}

  // Of as many rows as there are, those that there is memory for; 0 where so few are found at once
  // that all of them may be.
  std::int64_t rows_of(std::int64_t queries, std::int64_t rows) const;

  // Lowers those that are infinite. terms: as the finder has written them, on the device. False,
  // and nothing is changed, where the device has less memory than it said.
  bool lower(gpu::Queue& queue, const Block& block, const gpu::Buffer& terms,
             std::span<double> thresholds) const;

 private:
  SelectShape shape_of(std::int64_t queries, std::int64_t rows) const {
    return {queries, rows, rank_, false};
  }
  std::int64_t bytes_of(const SelectShape& shape) const;

  gpu::Device& device_;
  const BoundedFinder& finder_;
  std::int64_t rank_;
  std::int64_t most_bytes_;
};

}  // namespace nearfield
