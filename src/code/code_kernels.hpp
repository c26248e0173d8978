// The loops of encoding, for each ISA: the same bits from all of them. Products are of integers,
// and what is summed in float is summed in one order.
#pragma once

#include <cstdint>

#include <nearfield/isa.hpp>

namespace nearfield {

// Rows of floats have zeros up to a multiple of this, the partial sums of a cost.
inline constexpr std::int64_t kCostParts = 16;

// Vectors whose products with a codebook are made at once.
inline constexpr std::int64_t kProductVectors = 4;

// The length of a vector that is rounded for products: that of two stays below 2^31, also after
// rounding up to 65,536 values.
inline constexpr double kRoundedLength = 32'000;

// A sum that is too large for 16 bits. Of every vector and codebook one is smaller
// (icm_tables.hpp).
inline constexpr std::uint16_t kTooFar = 0xffff;

// Of more than 8 codebooks vectors go through a codebook with one half of its codewords, then with
// the other: tables of a half stay in L2 where those of all do not. At 16 codebooks these are 1 MB
// and 2 MB; in halves a step took 0.8 of the time on a core with an L2 of 1 MB.
constexpr int halves_of(int codebooks, int codewords) {
  return codewords == 256 && codebooks > 8 ? 2 : 1;
}

struct BestCode {
  std::uint16_t sum;
  std::uint8_t code;
};

// One step of ICM for some vectors: the best code of one codebook, while the others stay.
struct IcmJob {
  int codebooks;
  int target;
  // [half][other codebook, without the target][its code][code of the target, of the half]
  const std::uint16_t* pairs;
  const std::uint16_t* unaries;  // [vector][code of the target]
  std::uint8_t* codes;           // [vector][codebook]
  std::uint64_t* stale;          // [vector]: bit k says that codebook k must be looked at again
  const std::int32_t* vectors;   // those to look at
  std::int64_t count;
  BestCode* best;  // room for `count`, where there are two halves
};

// Which codewords a vector may be nearest to: of value v, those for which
//   sqrt(base + v) <= sqrt(base + the smallest) + apart, as squares, and `slack` more.
struct CloseTest {
  double base;
  double apart;
  double slack;
};

struct CodeKernels {
  // out[v][b] = the product of vector v, `pairs` pairs of values, with codeword b of a codebook
  // that lies as [pair][codeword][2]. kProductVectors of them. No sum may leave 32 bits.
  void (*products)(const std::int16_t* vectors, std::int64_t stride, const std::int16_t* codebook,
                   std::int64_t pairs, std::int32_t* out);

  // out[b] = norms[b] - scale * products[b], less the smallest of them, as a whole number, at most
  // kTooFar.
  void (*unaries)(const std::int32_t* products, const float* norms, float scale,
                  std::uint16_t* out);

  // out[b] = scale * products[b], as a whole number, less the smallest of them. None may be beyond
  // 2^22.
  void (*pair_row)(const std::int32_t* products, float scale, std::uint16_t* out);

  // The codewords b that pass the test with norms[b] - scale * products[b], rising; how many.
  int (*close_codewords)(const std::int32_t* products, const float* norms, float scale,
                         const CloseTest& test, std::uint8_t* out);

  // Ties go to the smaller code.
  void (*icm_step)(const IcmJob& job);

  // |x - the sum of its codewords|^2. Rows of `cols` values, a multiple of kCostParts; codeword b
  // of codebook k is row k * codewords + b.
  float (*cost)(const float* x, const float* words, std::int64_t cols, int codebooks, int codewords,
                const std::uint8_t* codes);

  // c[i][j] -= the sum over p of a[i * a_row + p * a_step] * b[p][j], p after p, each product and
  // each difference rounded once.
  void (*subtract_products)(double* c, std::int64_t c_stride, std::int64_t rows, std::int64_t cols,
                            const double* a, std::int64_t a_row, std::int64_t a_step,
                            const double* b, std::int64_t b_stride, std::int64_t depth);
};

// For codebooks of 16 or 256 codewords.
const CodeKernels& code_kernels(Isa isa, int codewords);

}  // namespace nearfield
