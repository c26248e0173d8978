// Lower bounds of edit distances from the letters that words have, for each ISA.
#pragma once

#include <cstdint>

#include <nearfield/isa.hpp>

namespace nearfield {

// A word of 64 bits of each text: of so many pairs of a letter and a number, whether the text has
// the letter at least so often; and above them the length, at most 255.
inline constexpr int kLetterBits = 56;

struct LetterKernels {
  // Raises levels[i] to the larger of two numbers that no edit changes by more than 1: how many
  // bits one of both texts has and the other has not, and the difference of their lengths.
  void (*raise)(std::uint64_t query, const std::uint64_t* words, std::int64_t count,
                std::uint8_t* levels);
};

// Of an ISA that is available here.
const LetterKernels& letter_kernels(Isa isa);

}  // namespace nearfield
