#include "distance/gpu/product_step.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/checked.hpp"

namespace nearfield {
namespace {

// convert.cu knows types by number.
static_assert(static_cast<int>(DType::f32) == 1 && static_cast<int>(DType::f16) == 2 &&
              static_cast<int>(DType::u8) == 4 && static_cast<int>(DType::i8) == 5);

std::string_view module_of(ProductKind kind) {
  constexpr std::array<std::string_view, 3> kModules = {"product_f16", "product_f16_acc16",
                                                        "product_i8"};
  return kModules.at(static_cast<std::size_t>(kind));
}

std::int64_t value_bytes(ProductKind kind) { return kind == ProductKind::i8 ? 1 : 2; }

int shift_of(DType dtype) { return dtype == DType::u8 ? 128 : 0; }

float power_of_two(int exponent) { return std::ldexp(1.0F, exponent); }

// Integers of the kernels wrap.
std::uint32_t wrapped(std::int64_t x) { return static_cast<std::uint32_t>(x); }

}  // namespace

ProductStep::ProductStep(DType queries, DType rows, std::int64_t cols, ProductKind kind,
                         ProductOutput output, const ProductScale& scale)
    : kind_(kind),
      squared_(output == ProductOutput::sqeuclidean),
      factor_(squared_                                 ? -2
              : output == ProductOutput::inner_product ? -1
                                                       : 1),
      scale_(scale),
      cols_(cols),
      query_shift_(shift_of(queries)),
      row_shift_(shift_of(rows)) {}

std::int64_t ProductStep::padded_cols() const {
  return round_up(std::max<std::int64_t>(cols_, 1), kProductPieceBytes / value_bytes(kind_));
}

std::int64_t ProductStep::vector_bytes(DType dtype) const {
  return row_bytes(dtype, cols_) + padded_cols() * value_bytes(kind_) + kFoundBytes;
}

std::int64_t ProductStep::padding_bytes() const {
  return (kProductTile - 1) * padded_cols() * value_bytes(kind_);
}

std::int64_t ProductStep::vectors_bytes(DType dtype, std::int64_t count) const {
  return count * vector_bytes(dtype) +
         (round_up(count, kProductTile) - count) * padded_cols() * value_bytes(kind_);
}

std::int64_t ProductStep::found_bytes(std::int64_t queries, std::int64_t rows) {
  return queries * rows * kFoundBytes;
}

ConvertedVectors ProductStep::convert_queries(gpu::Device& device, gpu::Queue& queue,
                                              MatrixView queries) const {
  return convert(device, queue, queries, scale_.queries, adds_of_queries());
}

ConvertedVectors ProductStep::convert_rows(gpu::Device& device, gpu::Queue& queue,
                                           MatrixView rows) const {
  return convert(device, queue, rows, scale_.rows, adds_of_rows());
}

// Bytes x and y are stored as x - a and y - b. The product of those, plus b times the sum of the
// stored x, a times that of the stored y, and n a b, is x y. With the factor -2 of a distance, all
// of them are taken twice and off the norms.
ProductStep::Adds ProductStep::adds_of_queries() const {
  return {squared_, factor_ * row_shift_, factor_ * cols_ * query_shift_ * row_shift_};
}

ProductStep::Adds ProductStep::adds_of_rows() const {
  return {squared_, factor_ * query_shift_, 0};
}

ConvertedVectors ProductStep::room_for(gpu::Device& device, std::int64_t count) const {
  ConvertedVectors converted;
  converted.values =
      device.allocate(round_up(count, kProductTile) * padded_cols() * value_bytes(kind_));
  converted.adds = device.allocate(count * kFoundBytes);
  return converted;
}

void ProductStep::convert_queries(gpu::Queue& queue, const gpu::ArrayTile& queries, DType dtype,
                                  std::int64_t count, ConvertedVectors& to) const {
  to.count = count;
  convert(queue, *queries.rows, queries.stride, dtype, scale_.queries, adds_of_queries(), to);
}

void ProductStep::convert_rows(gpu::Queue& queue, const gpu::ArrayTile& rows, DType dtype,
                               std::int64_t count, ConvertedVectors& to) const {
  to.count = count;
  convert(queue, *rows.rows, rows.stride, dtype, scale_.rows, adds_of_rows(), to);
}

ConvertedVectors ProductStep::convert(gpu::Device& device, gpu::Queue& queue, MatrixView vectors,
                                      int scale, const Adds& adds) const {
  const std::int64_t bytes = row_bytes(vectors.dtype(), cols_);
  ConvertedVectors converted = room_for(device, vectors.rows());
  converted.count = vectors.rows();
  converted.source = device.allocate(vectors.rows() * bytes);
  queue.write(*converted.source, vectors.row(0),
              {vectors.rows(), bytes, vectors.stride_bytes(), bytes});
  convert(queue, *converted.source, bytes, vectors.dtype(), scale, adds, converted);
  return converted;
}

void ProductStep::convert(gpu::Queue& queue, const gpu::Buffer& source, std::int64_t stride,
                          DType dtype, int scale, const Adds& adds,
                          const ConvertedVectors& to) const {
  const gpu::Grid grid{round_up(to.count, kProductTile), 1};
  const auto from_stride = static_cast<std::uint64_t>(stride);
  const auto count = static_cast<std::uint32_t>(to.count);
  const auto width = static_cast<std::uint32_t>(cols_);
  const auto stored = static_cast<std::uint32_t>(dtype);
  const auto to_words = static_cast<std::uint32_t>(padded_cols() * value_bytes(kind_) / 4);
  if (kind_ == ProductKind::i8) {
    queue.run({"convert", "to_i8"}, grid,
              {source, from_stride, count, width, stored, wrapped(adds.norm_factor),
               wrapped(adds.sum_factor), wrapped(adds.offset), *to.values, to_words, *to.adds});
  } else {
    const float norm_factor = adds.norm_factor == 0 ? 0 : power_of_two(-2 * scale);
    queue.run({"convert", "to_f16"}, grid,
              {source, from_stride, count, width, stored, power_of_two(scale), norm_factor,
               *to.values, to_words, *to.adds});
  }
}

void ProductStep::multiply(gpu::Queue& queue, const ConvertedVectors& queries,
                           const ConvertedVectors& rows, const gpu::Buffer& found) const {
  if (!multiply_by_library(queue, queries, rows, found)) {
    queue.run({module_of(kind_), "product"},
              {divide_up(rows.count, kProductTile), divide_up(queries.count, kProductTile)},
              {*queries.values, static_cast<std::uint32_t>(queries.count), *queries.adds,
               *rows.values, static_cast<std::uint32_t>(rows.count), *rows.adds,
               static_cast<std::uint32_t>(pieces()), factor(), found});
  }
}

void ProductStep::close(gpu::Queue& queue, const CloseVectors& queries, const CloseVectors& rows,
                        const PairList& list) const {
  close_products(queue, kind_, pieces(), factor(), queries, rows, list);
}

void ProductStep::close_met(gpu::Queue& queue, const CloseVectors& queries,
                            const CloseVectors& rows, const MetRows& met,
                            const PairList& list) const {
  close_met_products(queue, kind_, pieces(), factor(), queries, rows, met, list);
}

void ProductStep::close_two(gpu::Queue& queue, const CloseVectors& queries,
                            const CloseVectors& rows, std::int64_t parts,
                            const PairList& list) const {
  two_products(queue, pieces(), factor(), queries, rows, parts, list);
}

void ProductStep::bounds(gpu::Queue& queue, const CloseVectors& queries, const CloseVectors& rows,
                         const gpu::Buffer& found) const {
  product_bounds(queue, kind_, pieces(), factor(), 0.0F, queries, rows, found);
}

std::int64_t ProductStep::pieces() const {
  return padded_cols() * value_bytes(kind_) / kProductPieceBytes;
}

gpu::Argument ProductStep::factor() const {
  if (kind_ == ProductKind::i8) return std::int32_t{factor_};
  return static_cast<float>(factor_) * power_of_two(-(scale_.queries + scale_.rows));
}

// cuBLAS writes halves where it adds up in halves: those are left to the kernel.
bool ProductStep::multiply_by_library(gpu::Queue& queue, const ConvertedVectors& queries,
                                      const ConvertedVectors& rows,
                                      const gpu::Buffer& found) const {
  if (kind_ == ProductKind::f16_acc16) return false;
  const bool bytes = kind_ == ProductKind::i8;
  const gpu::Product product{.values = bytes ? gpu::Product::Values::i8 : gpu::Product::Values::f16,
                             .left = *queries.values,
                             .lefts = queries.count,
                             .right = *rows.values,
                             .rights = rows.count,
                             .width = padded_cols(),
                             .found = found};
  if (!queue.multiply(product)) return false;
  end_products(queue, {*queries.adds, queries.count}, {*rows.adds, rows.count}, bytes, factor(),
               found);
  return true;
}

void end_products(gpu::Queue& queue, const ProductAdds& queries, const ProductAdds& rows,
                  bool bytes, const gpu::Argument& factor, const gpu::Buffer& found) {
  const std::string_view module = "product_adds";
  queue.run({module, bytes ? "end_byte_products" : "end_float_products"},
            {divide_up(queries.count * rows.count, queue.threads(module)), 1},
            {queries.adds, static_cast<std::uint32_t>(queries.count), rows.adds,
             static_cast<std::uint32_t>(rows.count), factor, found});
}

}  // namespace nearfield
