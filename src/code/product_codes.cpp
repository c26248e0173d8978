#include "code/product_codes.hpp"

#include <algorithm>
#include <numeric>

#include "code/k_means.hpp"
#include "code/nearest_centroids.hpp"
#include "code/procrustes.hpp"
#include "core/checked.hpp"
#include "core/tasks.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kRotatedRows = 256;  // of a task, which has doubles before and after

// The part of the columns that a codebook has.
struct ColumnPart {
  std::int64_t first;
  std::int64_t width;
};

ColumnPart part_of(int codebook, const Codebooks& codebooks) {
  const std::int64_t first = first_column(codebook, codebooks.count, codebooks.cols);
  return {first, first_column(codebook + 1, codebooks.count, codebooks.cols) - first};
}

void put_centroids(const KMeans& part, int codebook, Codebooks& codebooks) {
  const auto [first, width] = part_of(codebook, codebooks);
  for (int b = 0; b < codebooks.codewords; ++b) {
    std::copy_n(part.centroids.data() + b * width, width, codebooks.word(codebook, b) + first);
  }
}

double mean_distance(const std::vector<KMeans>& parts, std::int64_t rows) {
  double sum = 0;
  for (const KMeans& part : parts) {
    sum = std::accumulate(part.distances.begin(), part.distances.end(), sum);
  }
  return sum / static_cast<double>(rows);
}

// What the codes of all parts stand for.
void decode_parts(const std::vector<KMeans>& parts, const Codebooks& codebooks, std::int64_t count,
                  float* out, const Monitor& monitor) {
  for (int k = 0; k < codebooks.count; ++k) {
    const auto [first, width] = part_of(k, codebooks);
    const KMeans& part = parts[static_cast<std::size_t>(k)];
    for (std::int64_t row = 0; row < count; ++row) {
      if (row % kRowsPerCheck == 0) monitor.check();
      const std::int64_t centroid = part.nearest[static_cast<std::size_t>(row)];
      std::copy_n(part.centroids.data() + centroid * width, width,
                  out + row * codebooks.cols + first);
    }
  }
}

// The kernel subtracts: with the rotation negated, it adds.
std::vector<double> negated_matrix(const std::vector<float>& rotation, std::int64_t cols,
                                   Turn turn) {
  std::vector<double> matrix(rotation.size());
  for (std::int64_t i = 0; i < cols; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) {
      const std::int64_t from = turn == Turn::there ? i * cols + j : j * cols + i;
      matrix[static_cast<std::size_t>(i * cols + j)] = -rotation[static_cast<std::size_t>(from)];
    }
  }
  return matrix;
}

// Of rows that are 0 outside that part: what is left out would add 0 to sums, and change none.
void rotate_columns(const FloatRows& rows, ColumnPart part, const std::vector<double>& negated,
                    float* out, const CodeWork& work) {
  const std::int64_t cols = rows.cols;
  run_tasks(divide_up(rows.count, kRotatedRows), work.threads, [&](std::int64_t task, int) {
    work.monitor.check();
    const std::int64_t first = task * kRotatedRows;
    const std::int64_t count = std::min(kRotatedRows, rows.count - first);
    std::vector<double> values(static_cast<std::size_t>(count * cols));
    std::vector<double> sums(values.size());
    for (std::int64_t row = 0; row < count; ++row) {
      std::copy_n(rows.row(first + row), cols, values.data() + row * cols);
    }
    work.kernels.subtract_products(sums.data(), cols, count, cols, values.data() + part.first, cols,
                                   1, negated.data() + part.first * cols, cols, part.width);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      out[first * cols + static_cast<std::int64_t>(i)] = static_cast<float>(sums[i]);
    }
  });
}

}  // namespace

ProductCodes train_product(const FloatRows& rows, const QuantizerOptions& options,
                           std::uint64_t seed, const CodeWork& work) {
  ProductCodes trained{Codebooks(options.codebooks, 1 << options.bits, rows.cols), {}, {}};
  std::vector<KMeans> parts;
  for (int k = 0; k < options.codebooks; ++k) {
    const auto [first, width] = part_of(k, trained.codebooks);
    parts.push_back(k_means(rows.columns(first, width), 1 << options.bits, options.iterations, seed,
                            static_cast<std::uint64_t>(k), work));
    put_centroids(parts.back(), k, trained.codebooks);
  }
  trained.errors.push_back(mean_distance(parts, rows.count));
  return trained;
}

ProductCodes train_rotated_product(const FloatRows& rows, const QuantizerOptions& options,
                                   std::uint64_t seed, const std::function<void(int, double)>& done,
                                   const CodeWork& work) {
  const std::int64_t cols = rows.cols;
  const int words = 1 << options.bits;
  ProductCodes trained{Codebooks(options.codebooks, words, cols), {}, {}};
  trained.rotation.resize(static_cast<std::size_t>(cols * cols));
  for (std::int64_t i = 0; i < cols; ++i) {
    trained.rotation[static_cast<std::size_t>(i * cols + i)] = 1;
  }
  std::vector<float> rotated(static_cast<std::size_t>(rows.count * cols));
  std::vector<float> decoded(rotated.size());
  std::vector<KMeans> parts(static_cast<std::size_t>(options.codebooks));
  const FloatRows turned{rotated.data(), rows.count, cols, cols};
  for (int iteration = 0; iteration < options.iterations; ++iteration) {
    rotate(rows, trained.rotation, Turn::there, rotated.data(), work);
    for (int k = 0; k < options.codebooks; ++k) {
      const auto [first, width] = part_of(k, trained.codebooks);
      const FloatRows columns = turned.columns(first, width);
      KMeans& part = parts[static_cast<std::size_t>(k)];
      if (iteration == 0) {
        part = k_means(columns, words, 1, seed, static_cast<std::uint64_t>(k), work);
      } else {
        assign(columns, words, part, work);
      }
    }
    trained.errors.push_back(mean_distance(parts, rows.count));
    if (done) done(iteration + 1, trained.errors.back());
    for (int k = 0; k < options.codebooks; ++k) {
      const auto [first, width] = part_of(k, trained.codebooks);
      become_means(turned.columns(first, width), words, parts[static_cast<std::size_t>(k)], work);
      put_centroids(parts[static_cast<std::size_t>(k)], k, trained.codebooks);
    }
    if (iteration > 0) work.monitor.advance(rows.count * options.codebooks);  // else k_means did
    if (iteration + 1 == options.iterations) break;  // the codebooks are of this rotation
    decode_parts(parts, trained.codebooks, rows.count, decoded.data(), work.monitor);
    trained.rotation = best_rotation(rows, decoded.data(), trained.rotation, work);
  }
  return trained;
}

void find_product_codes(const FloatRows& rows, const Codebooks& codebooks, std::uint8_t* codes,
                        const CodeWork& work) {
  for (int k = 0; k < codebooks.count; ++k) {
    const auto [first, width] = part_of(k, codebooks);
    const NearestCentroids nearest(
        {codebooks.word(k, 0) + first, codebooks.codewords, width, codebooks.cols}, work.kernels);
    find_nearest(rows.columns(first, width), nearest, codes + k, codebooks.count, nullptr, work);
  }
}

std::int64_t rotate_bytes(std::int64_t rows, std::int64_t cols, int threads) {
  return 8 * cols * cols + std::min(rows, threads * kRotatedRows) * cols * 16;
}

void rotate(const FloatRows& rows, const std::vector<float>& rotation, Turn turn, float* out,
            const CodeWork& work) {
  rotate_columns(rows, {0, rows.cols}, negated_matrix(rotation, rows.cols, turn), out, work);
}

Codebooks rotated_back(const Codebooks& codebooks, const std::vector<float>& rotation,
                       const CodeWork& work) {
  Codebooks back(codebooks.count, codebooks.codewords, codebooks.cols);
  const std::vector<double> matrix = negated_matrix(rotation, codebooks.cols, Turn::back);
  for (int k = 0; k < codebooks.count; ++k) {
    rotate_columns({codebooks.word(k, 0), codebooks.codewords, codebooks.cols, codebooks.cols},
                   part_of(k, codebooks), matrix, back.word(k, 0), work);
  }
  return back;
}

}  // namespace nearfield
