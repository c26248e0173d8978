// Keys on a device: what the kernels of keys.cu are given.
#pragma once

#include <cstdint>
#include <string>

#include <nearfield/metric.hpp>

#include "device/gpu/array_tiles.hpp"
#include "device/gpu/gpu.hpp"
#include "distance/gpu/pair_list.hpp"

namespace nearfield {

// Keys of a block of threads, both ways.
inline constexpr std::int64_t kKeySide = 16;
// As in first_keys.cu: of a query.
inline constexpr std::int64_t kMostFirstKeys = 64;

// `count` vectors on the device, from the one numbered `first` on.
struct KeyVectors {
  const gpu::ArrayTile& tile;
  DType dtype;
  std::int64_t first;
  std::int64_t count;
};

class KeyStep {
 public:
  KeyStep(MetricSpec metric, std::int64_t cols);

  // How the kernels want rows to lie: words of bits are read whole.
  static gpu::RowLayout layout(DType dtype);

  // found: queries x rows.
  void all(gpu::Queue& queue, const KeyVectors& queries, const KeyVectors& rows,
           const gpu::Buffer& found) const;

  // Adds to the list the pairs whose key is at most the threshold of their query, a float64 each,
  // of which NaN stands for none. A key that is no number counts as infinite. Queries and rows are
  // numbered from their first.
  void close(gpu::Queue& queue, const KeyVectors& queries, const KeyVectors& rows,
             const gpu::Buffer& thresholds, const PairList& list) const;

  // Of these only the first `first` of each query, of each of `parts` of the rows: at most
  // kMostFirstKeys. Keys that are not finite are listed beside them.
  void first(gpu::Queue& queue, const KeyVectors& queries, const KeyVectors& rows,
             const gpu::Buffer& thresholds, std::int64_t first, std::int64_t parts,
             const PairList& list) const;

  // found: queries x rows float32 that the keys are not above; infinity where they are not finite.
  void bounds(gpu::Queue& queue, const KeyVectors& queries, const KeyVectors& rows,
              const gpu::Buffer& found) const;

  // Writes the keys of the pairs in the list.
  void of_pairs(gpu::Queue& queue, const KeyVectors& queries, const KeyVectors& rows,
                const PairList& list) const;

 private:
  std::uint32_t width(DType dtype) const;

  MetricSpec metric_;
  std::int64_t cols_;
  std::string module_;
  std::string first_module_;
};

}  // namespace nearfield
