// What local search needs of codebooks, in fixed point.
//
// |x - sum of codewords|^2 less |x|^2 is a sum of unaries |c|^2 - 2 <x, c>, one a codeword, and of
// pairs 2 <c, c'>. Both are whole numbers of a quantum here, and a step of ICM adds 16-bit
// integers. Which code is best does not change if a constant is taken off a row of a table, so that
// the smallest entry of every row is 0: sums never fall, and one that is too large for 16 bits
// stays so. Codewords have the mean of their codebook taken off, and vectors the sum of the means:
// what is rounded is smaller then.
#pragma once

#include <cstdint>
#include <vector>

#include "code/code_kernels.hpp"
#include "code/icm_words.hpp"
#include "core/aligned_array.hpp"
#include "core/monitor.hpp"

namespace nearfield {

class IcmTables : public IcmWords {
 public:
  IcmTables(const Codebooks& codebooks, const CodeKernels& kernels, int threads, Monitor& monitor);

  // What they take.
  static std::int64_t bytes_for(int codebooks, int codewords, std::int64_t cols);

  // The vector less the centre, with zeros up to padded_cols().
  void centre(const float* vector, float* out) const;

  // Of a centred vector 2 * pairs() integers; answers what 1 stands for.
  float round(const float* centred, std::int16_t* out) const;

  // The unaries of kProductVectors rounded vectors and one codebook, to out + i * stride.
  // `products` has room for kProductVectors * codewords().
  void unaries(const std::int16_t* rounded, const float* steps, int codebook,
               std::int32_t* products, std::uint16_t* out, std::int64_t stride) const;

  // [half][other codebook, without the target][its code][code of the target, of the half]
  const std::uint16_t* pair_rows(int target) const {
    return pairs_of_.data() + target * pair_entries(codebooks_, codewords_);
  }

  // |centred - the sum of its codewords|^2
  float cost(const float* centred, const std::uint8_t* codes) const {
    return kernels_.cost(centred, words_.data(), padded_, codebooks_, codewords_, codes);
  }

 private:
  // Of a target.
  static std::int64_t pair_entries(int codebooks, int codewords) {
    return std::int64_t{codebooks - 1} * codewords * codewords;
  }
  std::vector<double> widest_rows(int threads, Monitor& monitor) const;

  // run(target, slot of another codebook), in parallel.
  template <class Run>
  void for_each_pair(int threads, Monitor& monitor, const Run& run) const;
  // use(row of products), one after the other.
  template <class Use>
  void for_each_row(int target, int slot, const Use& use) const;

  const CodeKernels& kernels_;
  AlignedArray<std::uint16_t> pairs_of_;
};

}  // namespace nearfield
