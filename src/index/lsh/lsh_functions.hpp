// The hash functions of all tables of some rows: directions, and levels along them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <nearfield/matrix.hpp>
#include <nearfield/metric.hpp>

#include "core/monitor.hpp"
#include "distance/kernels.hpp"
#include "index/lsh/lsh_hash.hpp"

namespace nearfield {

// Of each table scheme.projections() rows of directions, and scheme.levels() numbers for each of
// these. Looked at, in memory or in a file, where they may be any numbers.
struct LshFunctions {
  LshScheme scheme;
  std::int64_t tables = 0;
  MatrixView directions;  // f32
  std::span<const double> levels;

  MatrixView directions_of(std::int64_t table) const {
    return directions.slice(table * scheme.projections(), scheme.projections());
  }
  std::span<const double> levels_of(std::int64_t table) const {
    const auto count = static_cast<std::size_t>(scheme.projections() * scheme.levels());
    return levels.subspan(static_cast<std::size_t>(table) * count, count);
  }
};

struct OwnLshFunctions {
  LshScheme scheme;
  std::int64_t tables = 0;
  Matrix directions;
  std::vector<double> levels;

  LshFunctions view() const { return {scheme, tables, directions.view(), levels}; }
};

// For rows like these, of which there will be so many: what is random hangs on the seed alone, what
// is fitted on a sample of the rows.
OwnLshFunctions make_lsh_functions(const LshParameters& parameters, MetricSpec metric,
                                   MatrixView like, std::int64_t rows, const Monitor& monitor);
// What that takes, with its making.
std::int64_t lsh_function_bytes(const LshParameters& parameters, std::int64_t cols,
                                std::int64_t rows);

// Projections of one vector after the other, the same on every ISA: sums of float64 as those of
// keys are. Of cosine those of the vector scaled to length 1. One a thread.
class LshProjector {
 public:
  LshProjector(DType dtype, std::int64_t cols, MetricSpec metric, Isa isa);

  // The next vector. False if it is not finite: its projections are 0.
  bool load(const std::byte* row);
  void project(MatrixView directions, std::span<double> out) const;
  // The same of keys of its inner products with directions, in their place.
  void finish(std::span<double> keys) const;
  // Itself, of cosine scaled.
  std::vector<double> scaled() const;

 private:
  bool scaled_;
  const MetricKernels& products_;
  PreparedQuery vector_;
  bool finite_ = false;
  double scale_ = 1;
};

// Keys of all rows in one table. Each thread has a vector and its projections.
void lsh_keys(MatrixView rows, const LshFunctions& functions, MetricSpec metric, std::int64_t table,
              int threads, const Monitor& monitor, std::uint64_t* out);

inline std::int64_t lsh_hashing_bytes(std::int64_t cols, int threads) {
  return threads * (cols + 2 * kMostLshBits) * static_cast<std::int64_t>(sizeof(double));
}

}  // namespace nearfield
