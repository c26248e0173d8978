// Edit distances of one text to many, several at a time, for each ISA.
#pragma once

#include <cstdint>

#include <nearfield/isa.hpp>

namespace nearfield {

// Of the text that is compared and of the others: longer ones take other ways.
inline constexpr std::int64_t kMostKernelText = 64;

struct EditText {
  const std::uint8_t* letters;  // ASCII
  std::int64_t size;            // at most kMostKernelText
};

struct EditJob {
  const std::uint64_t*
      places;           // of each of 128 letters, a bit for each place where the query has it
  std::int64_t length;  // of the query, 1 to kMostKernelText
  const EditText* texts;
  std::int64_t count;
  double limit;
  double* distances;  // or a value above the limit
};

struct EditKernels {
  void (*distances)(const EditJob& job);
};

// Of an ISA that is available here.
const EditKernels& edit_kernels(Isa isa);

}  // namespace nearfield
