#include "bench/native/gpu/gemm_sift/fills.hpp"

#include <cmath>
#include <utility>
#include <vector>

#include "bench/native/gpu/distance_tables.hpp"
#include "distance/gpu/naive_step.hpp"

namespace nearfield::bench {
namespace {

ProductKind kind_of(Precision precision) {
  return precision == Precision::half_16 ? ProductKind::f16_acc16 : ProductKind::f16;
}

ProductScale scale_of(const Descriptors& descriptors, ProductKind kind) {
  return product_scale(descriptors.largest, descriptors.largest, kDescriptorCols, kind);
}

// With which every product is a half: the scale of sums in halves.
int table_scale(const Descriptors& descriptors) {
  const ProductScale scale = scale_of(descriptors, ProductKind::f16_acc16);
  return scale.queries + scale.rows;
}

struct ConvertedSets {
  ProductStep step;
  ConvertedVectors rows;
  std::vector<ConvertedVectors> batches;
};

std::shared_ptr<const ConvertedSets> converted(const Measuring& measuring,
                                               const Descriptors& descriptors, ProductKind kind,
                                               const BatchShape& shape) {
  gpu::Device& device = measuring.device();
  gpu::Queue& queue = measuring.queue();
  const DType dtype = descriptors.rows.dtype();
  const auto sets = std::make_shared<ConvertedSets>(
      ConvertedSets{ProductStep(dtype, dtype, kDescriptorCols, kind, ProductOutput::inner_product,
                                scale_of(descriptors, kind)),
                    {},
                    {}});
  sets->rows = sets->step.convert_rows(device, queue, descriptors.rows);
  const MatrixView queries = descriptors.queries;
  for (std::int64_t number = 0; number < shape.batches(); ++number) {
    sets->batches.push_back(sets->step.convert_queries(
        device, queue, queries.slice(shape.first(number), shape.count(number))));
  }
  queue.wait();
  sets->rows.source.reset();
  for (ConvertedVectors& batch : sets->batches) batch.source.reset();
  return sets;
}

// As they are.
struct PlacedSets {
  gpu::ArrayTile queries;
  gpu::ArrayTile rows;
  DType dtype;
  BatchShape shape;

  KeyVectors batch(std::int64_t number) const {
    return {queries, dtype, shape.first(number), shape.count(number)};
  }
  KeyVectors all_rows() const { return {rows, dtype, 0, shape.rows}; }
};

std::shared_ptr<const PlacedSets> placed(const Measuring& measuring, const Descriptors& descriptors,
                                         const BatchShape& shape) {
  return std::make_shared<PlacedSets>(
      PlacedSets{on_device(measuring.device(), measuring.queue(), descriptors.queries),
                 on_device(measuring.device(), measuring.queue(), descriptors.rows),
                 descriptors.rows.dtype(), shape});
}

}  // namespace

std::string_view to_string(Precision precision) {
  constexpr std::array<std::string_view, 4> kNames = {"half, 16-bit", "half, 32-bit",
                                                      "float, 16-bit", "float, 32-bit"};
  return kNames.at(static_cast<std::size_t>(precision));
}

Fill product_fill(const Measuring& measuring, const Descriptors& descriptors, Precision precision,
                  const BatchShape& shape) {
  if (precision == Precision::float_32) {
    const auto sets = placed(measuring, descriptors, shape);
    const KeyStep step(Metric::inner_product, kDescriptorCols);
    return [=](gpu::Queue& queue, std::int64_t number, const gpu::Buffer& table) {
      step.bounds(queue, sets->batch(number), sets->all_rows(), table);
    };
  }
  const auto sets = converted(measuring, descriptors, kind_of(precision), shape);
  const bool to_halves = precision == Precision::half_32;
  const int scale = table_scale(descriptors);
  return [=](gpu::Queue& queue, std::int64_t number, const gpu::Buffer& table) {
    sets->step.multiply(queue, sets->batches[place(number)], sets->rows, table);
    if (to_halves) round_to_halves(queue, table, shape.count(number) * shape.rows, scale);
  };
}

Fill naive_fill(const Measuring& measuring, const Descriptors& descriptors,
                const BatchShape& shape) {
  const auto sets = placed(measuring, descriptors, shape);
  return [=](gpu::Queue& queue, std::int64_t number, const gpu::Buffer& table) {
    naive_distances(queue, sets->batch(number), sets->all_rows(), kDescriptorCols, table);
  };
}

// Halves are off by 2^-11 of a value, or by 2^-25 where it is small, both as scaled. A float32 that
// a key is not above is off by 2^-21.
double product_bound(const Descriptors& descriptors, Precision precision) {
  const double query = longest(descriptors.queries);
  const double row = longest(descriptors.rows);
  if (precision == Precision::float_32) return 0x1p-21 * query * row;
  const ProductKind kind = kind_of(precision);
  const ProductScale scale = scale_of(descriptors, kind);
  const double root = std::sqrt(double{kDescriptorCols});
  const double query_off = 0x1p-11 * query + root * std::ldexp(1, -25 - scale.queries);
  const double row_off = 0x1p-11 * row + root * std::ldexp(1, -25 - scale.rows);
  const double most = (query + query_off) * (row + row_off);
  const int both = scale.queries + scale.rows;
  const double sums =
      std::ldexp(product_error(kind, kDescriptorCols, std::ldexp(most, both)), -both);
  const double table = precision == Precision::half_32
                           ? 0x1p-11 * most + std::ldexp(1, -25 - table_scale(descriptors))
                           : 0x1p-23 * most;
  return (most - query * row) + sums + table;
}

// A difference, its square and the sums of them are rounded to float32.
double naive_bound(const Descriptors& descriptors) {
  const double most = longest(descriptors.queries) + longest(descriptors.rows);
  return (kDescriptorCols + 3) * 0x1p-24 * most * most;
}

}  // namespace nearfield::bench
