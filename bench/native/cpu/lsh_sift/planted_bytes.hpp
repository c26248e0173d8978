// Bytes of any number of columns with something to be found in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <nearfield/matrix.hpp>

namespace nearfield::bench {

// As the set emb-768 of bench/datasets: clusters of 200 rows on average, the largest the most, and
// columns whose spread falls as (j + 1)^-0.5, in which a cluster is half as wide as its centres are
// apart.
class PlantedBytes {
 public:
  PlantedBytes(std::int64_t rows, std::int64_t cols);

  const Matrix& rows() const { return rows_; }
  // Every second is a row that is moved by an eighth of a cluster's width, as what was seen twice;
  // the others have nothing nearer than their cluster.
  Matrix queries(std::int64_t count, std::uint64_t seed) const;

 private:
  void draw(std::uint64_t seed, std::int64_t number, std::byte* to) const;

  std::vector<float> spreads_;  // of the columns
  std::int64_t clusters_;
  Matrix centres_;  // f32
  Matrix rows_;     // u8
};

}  // namespace nearfield::bench
