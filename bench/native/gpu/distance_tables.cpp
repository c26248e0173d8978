#include "bench/native/gpu/distance_tables.hpp"

#include <algorithm>
#include <cmath>

#include "core/decode.hpp"

namespace nearfield::bench {
namespace {

// Of values up to 1.
ProductScale scale_for(std::int64_t cols, ProductKind kind) {
  return product_scale(1, 1, cols, kind);
}

}  // namespace

gpu::ArrayTile on_device(gpu::Device& device, gpu::Queue& queue, MatrixView vectors) {
  const std::int64_t stride = row_bytes(vectors.dtype(), vectors.cols());
  gpu::ArrayTile tile{device.allocate(vectors.rows() * stride), stride};
  queue.write(*tile.rows, vectors.row(0), {vectors.rows(), stride, vectors.stride_bytes(), stride});
  queue.wait();
  return tile;
}

double longest(MatrixView vectors) {
  std::vector<double> values(static_cast<std::size_t>(vectors.cols()));
  double longest = 0;
  for (std::int64_t i = 0; i < vectors.rows(); ++i) {
    decode_row(vectors.dtype(), vectors.row(i), vectors.cols(), values.data());
    double square = 0;
    for (const double x : values) square += x * x;
    longest = std::max(longest, square);
  }
  return std::sqrt(longest);
}

KeyTable::KeyTable(gpu::Device& device, gpu::Queue& queue, MatrixView queries, MatrixView rows)
    : queue_(queue),
      queries_(queries.rows()),
      rows_(rows.rows()),
      step_(Metric::sqeuclidean, rows.cols()),
      query_tile_(on_device(device, queue, queries)),
      row_tile_(on_device(device, queue, rows)),
      found_(device.allocate(queries_ * rows_ * static_cast<std::int64_t>(sizeof(double)))) {}

void KeyTable::run() {
  step_.all(queue_, {query_tile_, DType::f32, 0, queries_}, {row_tile_, DType::f32, 0, rows_},
            *found_);
  queue_.wait();
}

std::vector<double> KeyTable::read() const {
  return read_values<double>(queue_, *found_, queries_ * rows_);
}

ProductTable::ProductTable(gpu::Device& device, gpu::Queue& queue, MatrixView rows,
                           ProductKind kind, std::int64_t most_queries)
    : device_(device),
      queue_(queue),
      step_(rows.dtype(), rows.dtype(), rows.cols(), kind, ProductOutput::sqeuclidean,
            scale_for(rows.cols(), kind)),
      rows_(step_.convert_rows(device, queue, rows)),
      found_(device.allocate(ProductStep::found_bytes(most_queries, rows.rows()))) {
  queue.wait();
  rows_.source.reset();
}

ConvertedVectors ProductTable::convert(MatrixView queries) const {
  ConvertedVectors converted = step_.convert_queries(device_, queue_, queries);
  queue_.wait();
  converted.source.reset();
  return converted;
}

void ProductTable::fill(const ConvertedVectors& queries) const {
  step_.multiply(queue_, queries, rows_, *found_);
}

// A half is off by 2^-11 of its value, or by 2^-25 where it is small, both as scaled; so may a
// vector be longer. Norms are sums of as many squares as there are columns, in float32; three terms
// are added to a distance.
HalfBound::HalfBound(MatrixView queries, MatrixView rows, ProductKind kind) {
  constexpr double kLonger = 1 + 0x1p-10;
  const double query = kLonger * longest(queries);
  const double row = kLonger * longest(rows);
  const auto cols = static_cast<double>(rows.cols());
  const ProductScale scale = scale_for(rows.cols(), kind);
  rounding_ = 0x1p-11 * (query + row) + std::sqrt(cols) * (std::ldexp(1, -25 - scale.queries) +
                                                           std::ldexp(1, -25 - scale.rows));
  const int both = scale.queries + scale.rows;
  const double product = product_error(kind, rows.cols(), std::ldexp(query * row, both));
  arithmetic_ =
      2 * std::ldexp(product, -both) + (cols + 4) * 0x1p-23 * (query + row) * (query + row);
}

bool HalfBound::holds(double key, double found) const {
  const double distance = std::sqrt(key);
  const double least = std::max(distance - rounding_, 0.0);
  const double most = distance + rounding_;
  return found >= least * least - arithmetic_ && found <= most * most + arithmetic_;
}

}  // namespace nearfield::bench
