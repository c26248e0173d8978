#include "bench/native/gpu/gemm_sift/descriptors.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nearfield/files.hpp>

#include "bench/native/gpu/uniform.hpp"
#include "core/decode.hpp"
#include "core/random.hpp"

namespace nearfield::bench {
namespace {

constexpr double kSiftNorm = 512;
constexpr double kLargestByte = 255;
constexpr std::uint64_t kSpreadSeed = 2022;

std::vector<double> values_of(const Matrix& vectors, std::int64_t row) {
  std::vector<double> values(place(vectors.cols()));
  decode_row(vectors.dtype(), vectors.row(row), vectors.cols(), values.data());
  return values;
}

double norm_of(const std::vector<double>& values) {
  double square = 0;
  for (const double x : values) square += x * x;
  return std::sqrt(square);
}

Matrix unit_rows(std::int64_t rows, std::uint64_t seed) {
  Matrix vectors = uniform_vectors(rows, kDescriptorCols, seed);
  for (std::int64_t i = 0; i < rows; ++i) {
    auto* const row = reinterpret_cast<float*>(vectors.row(i));
    const double norm = norm_of(values_of(vectors, i));
    std::transform(row, row + kDescriptorCols, row,
                   [&](float x) { return static_cast<float>(x / norm); });
  }
  return vectors;
}

Matrix times_512(const Matrix& vectors) {
  Matrix bytes(DType::u8, vectors.rows(), vectors.cols());
  for (std::int64_t i = 0; i < vectors.rows(); ++i) {
    const auto* const row = reinterpret_cast<const float*>(vectors.row(i));
    std::transform(row, row + vectors.cols(), reinterpret_cast<std::uint8_t*>(bytes.row(i)),
                   [](float x) {
                     return static_cast<std::uint8_t>(
                         std::min(std::lround(kSiftNorm * x), std::lround(kLargestByte)));
                   });
  }
  return bytes;
}

Matrix first_of_matrix(const Matrix& all, std::int64_t wanted) {
  Matrix first(all.dtype(), wanted, all.cols());
  std::copy_n(all.row(0), first.bytes(), first.row(0));
  return first;
}

Matrix first_rows(const std::string& path, std::int64_t wanted) {
  const Matrix all = read_matrix(path);
  if (all.dtype() != DType::u8 || all.cols() != kDescriptorCols || all.rows() < wanted) {
    throw std::runtime_error(fmt::format("{} has {} rows of {} {}: wanted are {} of {} u8", path,
                                         all.rows(), all.cols(), to_string(all.dtype()), wanted,
                                         kDescriptorCols));
  }
  return first_of_matrix(all, wanted);
}

Matrix spread_rows(const Matrix& vectors, double spread) {
  Matrix floats(DType::f32, vectors.rows(), vectors.cols());
  for (std::int64_t i = 0; i < vectors.rows(); ++i) {
    const std::vector<double> values = values_of(vectors, i);
    const double factor = 1 + spread * Random(kSpreadSeed, static_cast<std::uint64_t>(i)).normal();
    std::transform(values.begin(), values.end(), reinterpret_cast<float*>(floats.row(i)),
                   [&](double x) { return static_cast<float>(factor * x); });
  }
  return floats;
}

std::string norms_of_set(const Matrix& vectors) {
  double sum = 0;
  double squares = 0;
  for (std::int64_t i = 0; i < vectors.rows(); ++i) {
    const double norm = norm_of(values_of(vectors, i));
    sum += norm;
    squares += norm * norm;
  }
  const auto count = static_cast<double>(vectors.rows());
  const double mean = sum / count;
  return fmt::format("{:.6g} ± {:.2g}", mean,
                     std::sqrt(std::max(squares / count - mean * mean, 0.0)));
}

}  // namespace

Descriptors unit_vectors(std::int64_t queries, std::int64_t rows) {
  return {"random", unit_rows(queries, kQuerySeed), unit_rows(rows, kRowSeed), 1, 1};
}

Descriptors sift_bytes(const std::string& folder, Size size, std::int64_t queries,
                       std::int64_t rows) {
  if (!folder.empty()) {
    return {"sift", first_rows(folder + "/queries.u8bin", queries),
            first_rows(folder + "/base.u8bin", rows), kSiftNorm, kLargestByte};
  }
  if (size != Size::tiny) {
    throw std::runtime_error(
        "no folder of SIFT descriptors was named: bench/datasets make makes one, bench/reproduce "
        "names it");
  }
  const Descriptors unit = unit_vectors(queries, rows);
  return {"bytes, not SIFT", times_512(unit.queries), times_512(unit.rows), kSiftNorm,
          kLargestByte};
}

Descriptors with_spread(const Descriptors& descriptors, double spread) {
  Matrix rows = spread_rows(descriptors.rows, spread);
  return {fmt::format("{}, norms ± {:g} %", descriptors.data, 100 * spread),
          spread_rows(descriptors.queries, 0), std::move(rows), descriptors.norm,
          // Ten deviations more: none comes near.
          descriptors.largest * (1 + 10 * spread)};
}

Descriptors first_queries(const Descriptors& descriptors, std::int64_t queries) {
  return {descriptors.data, first_of_matrix(descriptors.queries, queries),
          first_of_matrix(descriptors.rows, descriptors.rows.rows()), descriptors.norm,
          descriptors.largest};
}

std::string norms_of(const Descriptors& descriptors) {
  return fmt::format("norms of {}: {} of queries, {} of rows", descriptors.data,
                     norms_of_set(descriptors.queries), norms_of_set(descriptors.rows));
}

Truth::Truth(const Descriptors& descriptors)
    : nearest(knn(descriptors.queries, descriptors.rows, {.k = 2})),
      by_product(
          knn(descriptors.queries, descriptors.rows, {.k = 2, .metric = Metric::inner_product})) {}

double product_of(const Descriptors& descriptors, std::int64_t query, std::int64_t row) {
  const std::vector<double> x = values_of(descriptors.queries, query);
  const std::vector<double> y = values_of(descriptors.rows, row);
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

double square_of(const Descriptors& descriptors, std::int64_t query, std::int64_t row) {
  const std::vector<double> x = values_of(descriptors.queries, query);
  const std::vector<double> y = values_of(descriptors.rows, row);
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
  return sum;
}

}  // namespace nearfield::bench
