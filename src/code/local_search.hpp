// Codes of vectors by iterated local search: Algorithm 1 of Martinez, Hoos, Little, "Solving
// multi-codebook quantization in the GPU" (2016). Its line 19 has <c_k, c_i> once; of the square
// before it comes twice, and twice is what is minimised here.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "code/icm_tables.hpp"
#include "core/monitor.hpp"

namespace nearfield {

struct LocalSearch {
  int rounds = 16;
  int sweeps = 4;
  int perturbed = 4;
  bool random_order = false;  // of codebooks in a sweep
  std::uint64_t seed = 0;
  // Vectors that go through a codebook together at most, on the CPU: its tables are read from L2
  // then, and come there once for all of them. See batch_within.
  std::int64_t batch = 2048;
};

// Random codes of one vector. They hang on its values, not on its place: the same vector gets the
// same codes alone, in any batch and in any file.
class CodeDice {
 public:
  CodeDice(std::uint64_t seed, const float* vector, std::int64_t cols);

  void start(int codebooks, int codewords, std::uint8_t* codes) const;

  // Algorithm 2: each codebook with probability needed / left, so that `perturbed` of them change
  // to a random code.
  void perturb(int round, int perturbed, int codebooks, int codewords, std::uint8_t* codes) const;

 private:
  // Of the codebook `first` and the three after it.
  std::array<std::uint32_t, 4> words(std::uint32_t round, int first) const;

  std::uint64_t seed_;
  std::uint64_t stream_;
};

// The order in which a sweep takes the codebooks: the same for all vectors.
std::vector<int> sweep_order(const LocalSearch& search, int round, int sweep, int codebooks);

// Where codes begin.
enum class StartCodes { random, given };

// Rows of tables.cols() floats, all finite; codes are a byte each, row by row. costs: the squared
// distance of each row from what its codes stand for; may be null. The monitor hears of the rows.
void search_codes(const IcmTables& tables, const CodeKernels& kernels, const LocalSearch& search,
                  const float* rows, std::int64_t count, StartCodes start, std::uint8_t* codes,
                  float* costs, int threads, Monitor& monitor);

// What search_codes takes beside its arguments, with the usual batch.
std::int64_t local_search_bytes(int codebooks, int codewords, std::int64_t cols, int threads);

// The batch that is fastest where `spare` bytes are left beside those. docs/codes.md has how it was
// measured.
std::int64_t batch_within(std::int64_t spare, int codebooks, int codewords, std::int64_t cols,
                          int threads);

}  // namespace nearfield
