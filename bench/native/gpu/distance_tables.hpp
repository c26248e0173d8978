// Tables of squared distances, computed and left on the device, from vectors that are there.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <nearfield/matrix.hpp>

#include "distance/gpu/key_step.hpp"
#include "distance/gpu/product_step.hpp"

namespace nearfield::bench {

// The whole of a buffer.
template <class Value>
std::vector<Value> read_values(gpu::Queue& queue, const gpu::Buffer& buffer, std::int64_t count) {
  std::vector<Value> values(static_cast<std::size_t>(count));
  const auto bytes = count * static_cast<std::int64_t>(sizeof(Value));
  queue.read(buffer, values.data(), {1, bytes, bytes, bytes});
  queue.wait();
  return values;
}

// Close to each other.
gpu::ArrayTile on_device(gpu::Device& device, gpu::Queue& queue, MatrixView vectors);

// The largest norm.
double longest(MatrixView vectors);

// Keys, as searches order by: float64.
class KeyTable {
 public:
  KeyTable(gpu::Device& device, gpu::Queue& queue, MatrixView queries, MatrixView rows);

  void run();
  std::vector<double> read() const;

 private:
  gpu::Queue& queue_;
  const std::int64_t queries_;
  const std::int64_t rows_;
  const KeyStep step_;
  const gpu::ArrayTile query_tile_;
  const gpu::ArrayTile row_tile_;
  const std::unique_ptr<gpu::Buffer> found_;
};

// From products of halves or bytes, |x|^2 + |y|^2 - 2xy, of vectors that are rounded already:
// float32, of bytes int32.
class ProductTable {
 public:
  // most_queries: rows of the table.
  ProductTable(gpu::Device& device, gpu::Queue& queue, MatrixView rows, ProductKind kind,
               std::int64_t most_queries);

  ConvertedVectors convert(MatrixView queries) const;
  // Does not wait.
  void fill(const ConvertedVectors& queries) const;

  const gpu::Buffer& found() const { return *found_; }

 private:
  gpu::Device& device_;
  gpu::Queue& queue_;
  const ProductStep step_;
  ConvertedVectors rows_;
  const std::unique_ptr<gpu::Buffer> found_;
};

// How far a distance by halves may be from the true one.
class HalfBound {
 public:
  HalfBound(MatrixView queries, MatrixView rows, ProductKind kind);

  // key: the true one, or the i-th of true ones in order where `found` is the i-th found. (Numbers
  // that differ by at most so much differ by no more once both are in order.)
  bool holds(double key, double found) const;

 private:
  double rounding_;    // of a distance, not squared: vectors are rounded
  double arithmetic_;  // of its square: so are sums
};

}  // namespace nearfield::bench
