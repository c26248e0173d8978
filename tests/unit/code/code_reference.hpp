// Rows to quantize, and every step of local search quantization once more: in float64, slow, and
// without any of the tables.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "code/codebooks.hpp"
#include "code/local_search.hpp"
#include "core/random.hpp"

namespace nearfield::test {

// Correlated columns of different widths around a few centres, all far from zero.
inline std::vector<float> rows_to_code(std::int64_t count, std::int64_t cols,
                                       std::uint64_t seed = 1) {
  Random random(seed);
  std::vector<double> centres(static_cast<std::size_t>(16 * cols));
  for (double& value : centres) value = 10 * random.normal() + 30;
  std::vector<float> rows;
  for (std::int64_t row = 0; row < count; ++row) {
    const std::int64_t centre = random.below(16);
    double before = 0;
    for (std::int64_t i = 0; i < cols; ++i) {
      before = 0.7 * before + random.normal() * (2.0 + static_cast<double>(i % 5));
      rows.push_back(
          static_cast<float>(centres[static_cast<std::size_t>(centre * cols + i)] + before));
    }
  }
  return rows;
}

inline Codebooks random_codebooks(int count, int codewords, std::int64_t cols,
                                  std::uint64_t seed = 2) {
  Codebooks books(count, codewords, cols);
  Random random(seed);
  for (float& value : books.values) value = static_cast<float>(8 * random.normal() + 3);
  return books;
}

inline double reference_cost(const Codebooks& books, const float* x, const std::uint8_t* codes) {
  double sum = 0;
  for (std::int64_t i = 0; i < books.cols; ++i) {
    double rest = x[i];
    for (int k = 0; k < books.count; ++k) rest -= books.word(k, codes[k])[i];
    sum += rest * rest;
  }
  return sum;
}

// Line 19 of Algorithm 1: the code of one codebook, the others fixed. Ties go to the smaller.
inline int reference_best_code(const Codebooks& books, const float* x, const std::uint8_t* codes,
                               int target) {
  std::vector<std::uint8_t> tried(codes, codes + books.count);
  int best = 0;
  double least = HUGE_VAL;
  for (int b = 0; b < books.codewords; ++b) {
    tried[static_cast<std::size_t>(target)] = static_cast<std::uint8_t>(b);
    const double cost = reference_cost(books, x, tried.data());
    if (cost < least) {
      least = cost;
      best = b;
    }
  }
  return best;
}

// Algorithm 1, from line 5 on.
inline void reference_search(const Codebooks& books, const LocalSearch& search, const float* x,
                             std::uint8_t* codes) {
  const CodeDice dice(search.seed, x, books.cols);
  dice.start(books.count, books.codewords, codes);
  const auto m = static_cast<std::size_t>(books.count);
  std::vector<std::uint8_t> best(codes, codes + m);
  double least = reference_cost(books, x, best.data());
  for (int round = 0; round < search.rounds; ++round) {
    std::vector<std::uint8_t> found = best;
    dice.perturb(round, search.perturbed, books.count, books.codewords, found.data());
    for (int sweep = 0; sweep < search.sweeps; ++sweep) {
      for (const int k : sweep_order(search, round, sweep, books.count)) {
        found[static_cast<std::size_t>(k)] =
            static_cast<std::uint8_t>(reference_best_code(books, x, found.data(), k));
      }
    }
    const double cost = reference_cost(books, x, found.data());
    if (cost < least) {
      least = cost;
      best = found;
    }
  }
  std::copy(best.begin(), best.end(), codes);
}

}  // namespace nearfield::test
