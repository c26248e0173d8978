// The two steps of a tile of products, on a device: converting vectors and multiplying them.
#pragma once

#include <cstdint>
#include <memory>

#include <nearfield/matrix.hpp>

#include "device/gpu/array_tiles.hpp"
#include "device/gpu/gpu.hpp"
#include "distance/device_products.hpp"
#include "distance/gpu/close_step.hpp"

namespace nearfield {

inline constexpr std::int64_t kFoundBytes = 4;  // of a product: float32 or int32

// Vectors on the device, as products read them: row-major halves or bytes, padded with zeros to
// whole tiles and pieces.
struct ConvertedVectors {
  std::unique_ptr<gpu::Buffer> source;  // until the queue has converted it
  std::unique_ptr<gpu::Buffer> values;
  std::unique_ptr<gpu::Buffer> adds;  // float32 or int32: to every product of a vector
  std::int64_t count = 0;             // without padding
};

// Of all tiles of a call.
class ProductStep {
 public:
  ProductStep(DType queries, DType rows, std::int64_t cols, ProductKind kind, ProductOutput output,
              const ProductScale& scale);

  // On the device. Vectors: while they are converted; one, and what all of them are padded with at
  // most.
  std::int64_t vectors_bytes(DType dtype, std::int64_t count) const;
  std::int64_t vector_bytes(DType dtype) const;
  std::int64_t padding_bytes() const;
  static std::int64_t found_bytes(std::int64_t queries, std::int64_t rows);

  ConvertedVectors convert_queries(gpu::Device& device, gpu::Queue& queue,
                                   MatrixView queries) const;
  ConvertedVectors convert_rows(gpu::Device& device, gpu::Queue& queue, MatrixView rows) const;

  // Of those that the device has. to: room_for() as many or more.
  ConvertedVectors room_for(gpu::Device& device, std::int64_t count) const;
  void convert_queries(gpu::Queue& queue, const gpu::ArrayTile& queries, DType dtype,
                       std::int64_t count, ConvertedVectors& to) const;
  void convert_rows(gpu::Queue& queue, const gpu::ArrayTile& rows, DType dtype, std::int64_t count,
                    ConvertedVectors& to) const;

  // found: queries x rows, close to each other: factor * product + both adds. By a library of the
  // device's maker where it has one, else by product.cu.
  void multiply(gpu::Queue& queue, const ConvertedVectors& queries, const ConvertedVectors& rows,
                const gpu::Buffer& found) const;

  // Adds to the list the pairs of bytes whose factor * product + both adds is at most the limit of
  // the query. Terms of a query: its add and its limit; of a row: its add.
  void close(gpu::Queue& queue, const CloseVectors& queries, const CloseVectors& rows,
             const PairList& list) const;

  // Of these, pairs that have met.
  void close_met(gpu::Queue& queue, const CloseVectors& queries, const CloseVectors& rows,
                 const MetRows& met, const PairList& list) const;

  // Of these the first two of each query, of each of `parts` of the rows.
  void close_two(gpu::Queue& queue, const CloseVectors& queries, const CloseVectors& rows,
                 std::int64_t parts, const PairList& list) const;

  // found: of these queries and rows, float32 that factor * product + both adds is not above.
  void bounds(gpu::Queue& queue, const CloseVectors& queries, const CloseVectors& rows,
              const gpu::Buffer& found) const;

 private:
  // What is added to the products of a vector; of halves, only the norm.
  struct Adds {
    int norm_factor;
    int sum_factor;
    std::int64_t offset;
  };

  std::int64_t padded_cols() const;
  std::int64_t pieces() const;
  gpu::Argument factor() const;
  bool multiply_by_library(gpu::Queue& queue, const ConvertedVectors& queries,
                           const ConvertedVectors& rows, const gpu::Buffer& found) const;
  Adds adds_of_queries() const;
  Adds adds_of_rows() const;
  ConvertedVectors convert(gpu::Device& device, gpu::Queue& queue, MatrixView vectors, int scale,
                           const Adds& adds) const;
  // Of `to.count` of them.
  void convert(gpu::Queue& queue, const gpu::Buffer& source, std::int64_t stride, DType dtype,
               int scale, const Adds& adds, const ConvertedVectors& to) const;

  ProductKind kind_;
  bool squared_;
  int factor_;  // of a product
  ProductScale scale_;
  std::int64_t cols_;
  int query_shift_;  // of bytes: what was taken off each value
  int row_shift_;
};

// To every product of a vector.
struct ProductAdds {
  const gpu::Buffer& adds;
  std::int64_t count;
};

// found: the products as a library wrote them, which become factor * product + both adds.
void end_products(gpu::Queue& queue, const ProductAdds& queries, const ProductAdds& rows,
                  bool bytes, const gpu::Argument& factor, const gpu::Buffer& found);

}  // namespace nearfield
