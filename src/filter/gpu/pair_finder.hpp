// How a device finds the pairs of a block that are close enough, and their keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include <nearfield/matrix.hpp>

#include "device/gpu/array_tiles.hpp"
#include "device/gpu/gpu.hpp"
#include "distance/gpu/close_step.hpp"
#include "distance/gpu/pair_list.hpp"
#include "filter/filter.hpp"

namespace nearfield {

class BoundedFinder;

class PairFinder {
 public:
  virtual ~PairFinder() = default;

  // Itself, if it is one.
  virtual const BoundedFinder* bounded() const { return nullptr; }

  // On the device, of each.
  virtual std::int64_t query_bytes() const = 0;
  virtual std::int64_t row_bytes() const = 0;
  virtual std::int64_t limit_bytes() const = 0;
  // Beside those, of all queries, and once more of all rows.
  virtual std::int64_t padding_bytes() const { return 0; }
  // Of a query: it finds no more, but for keys that are not finite, however many rows a block has;
  // 0: as many as there are.
  virtual std::int64_t most_found() const { return 0; }

  // Queries that cost as much as fewer, from a multiple of them on.
  virtual std::int64_t query_unit() const { return 1; }
  // Rows of a block: fewer cost as much.
  virtual std::int64_t least_rows() const = 0;

  // Brings them to the device, instead of those before. The queue may still have to read them.
  virtual void take_queries(gpu::Queue& queue, MatrixView queries) = 0;

  // Likewise, beside those in use, which use_rows() puts them in the place of.
  virtual void bring_rows(gpu::Queue& queue, MatrixView rows) = 0;
  virtual void use_rows(gpu::Queue& queue) = 0;
  // Those in use, and those that were brought.
  virtual void drop_rows() = 0;

  // What the device compares with, of some queries and their thresholds: limit_bytes() each.
  virtual void write_limits(Range queries, std::span<const double> thresholds,
                            std::byte* limits) const = 0;

  // Lists the pairs that are not proven to be above their threshold, with their keys; queries and
  // rows numbered from the first of the block, which counts from the first that were taken.
  virtual void find(gpu::Queue& queue, const Block& block, const gpu::Buffer& limits,
                    const PairList& found) const = 0;

  virtual std::string name() const = 0;
};

// One that can say what keys are not above, before any threshold is known.
class BoundedFinder : public PairFinder {
 public:
  const BoundedFinder* bounded() const override { return this; }

  // What bounds() needs of some queries, instead of limits: as many bytes.
  virtual void write_terms(Range queries, std::byte* terms) const = 0;

  // found: float32 of each query and row of a block that grow with a key that is not below that of
  // the pair; infinity or NaN where nothing is proven.
  virtual void bounds(gpu::Queue& queue, const Block& block, const gpu::Buffer& terms,
                      const gpu::Buffer& found) const = 0;

  // That key.
  virtual double key_of_bound(double bound) const = 0;
};

// One by products of tiles, which may also be of some rows that were gathered on the device, and of
// those queries alone that have met them. Such rows are not brought or used as above.
class ProductFinder : public BoundedFinder {
 public:
  // As take_queries, of those that the device has, as the kernels of keys read them. Looks at them.
  virtual void use_queries(gpu::Queue& queue, const gpu::ArrayTile& queries,
                           std::int64_t count) = 0;

  // After that. largest: asked, if that matters, for the largest_magnitude of all rows that may be
  // gathered. most: of them at a time.
  virtual void expect_gathered(gpu::Queue& queue, const std::function<float()>& largest,
                               std::int64_t most) = 0;
  // Some of them, instead of those before. The queue may still have to read them.
  virtual void take_gathered(gpu::Queue& queue, const gpu::ArrayTile& rows, std::int64_t count) = 0;

  // Lists the pairs of queries and all of those that have met and are not proven to be above their
  // threshold.
  virtual void find_met(gpu::Queue& queue, Range queries, const gpu::Buffer& limits,
                        const MetRows& met, const PairList& found) const = 0;
  // Whether with their keys, or these are for others to make.
  virtual bool finds_keys() const = 0;
};

}  // namespace nearfield
