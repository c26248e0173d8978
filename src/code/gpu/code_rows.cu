// What local search does once a vector and round: how a vector is rounded, its random codes, and
// whether what was found is better. The same operations in the same order as on CPUs
// (code/icm_tables.cpp, code/local_search.cpp, code/cpu/code_kernels.cpp), so that bits are the
// same.
#include "device/gpu/kernel_language.h"

namespace nearfield::device {
namespace {

constexpr double kLengthOfRounded = 32000;  // kRoundedLength
constexpr double kLargestScale = 1e25;      // kMostOfAScale
constexpr u32 kPartsOfACost = 16;           // kCostParts
constexpr u32 kStartRound = 0xFFFFFFFFu;

struct FourWords {
  u32 words[4];
};

// As core/random.cpp has it.
NEARFIELD_INLINE FourWords philox(u32 c0, u32 c1, u32 c2, u32 c3, u32 key0, u32 key1) {
  for (u32 round = 0; round < 10; ++round) {
    const u64 a = static_cast<u64>(0xD2511F53u) * c0;
    const u64 b = static_cast<u64>(0xCD9E8D57u) * c2;
    c0 = static_cast<u32>(b >> 32) ^ c1 ^ key0;
    c1 = static_cast<u32>(b);
    c2 = static_cast<u32>(a >> 32) ^ c3 ^ key1;
    c3 = static_cast<u32>(a);
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

// Of the codebook `first` and the three after it.
NEARFIELD_INLINE FourWords dice(u64 seed, u64 stream, u32 round, u32 first) {
  return philox(static_cast<u32>(stream), static_cast<u32>(stream >> 32), round, first,
                static_cast<u32>(seed), static_cast<u32>(seed >> 32));
}

NEARFIELD_INLINE u32 first_of_this() { return block_x() * kThreads + thread(); }

}  // namespace
}  // namespace nearfield::device

// A thread a row, since random numbers and lengths take its values one after the other. streams: of
// its random numbers. inverses: what its values are multiplied by before they are rounded. scales:
// of products, in quanta; twice_step is 2 word steps.
NEARFIELD_KERNEL measure_rows(NEARFIELD_GLOBAL const float* rows,
                              NEARFIELD_GLOBAL const float* centre, nearfield::u32 count,
                              nearfield::u32 cols, double twice_step, double quantum,
                              NEARFIELD_GLOBAL nearfield::u64* streams,
                              NEARFIELD_GLOBAL double* inverses, NEARFIELD_GLOBAL float* scales) {
  using namespace nearfield::device;
  using nearfield::u32;
  using nearfield::u64;
  const u32 row = first_of_this();
  if (row >= count) return;
  NEARFIELD_GLOBAL const float* const values = rows + static_cast<u64>(row) * cols;
  u64 stream = cols;
  double squares = 0;
  for (u32 i = 0; i < cols; ++i) {
    const float value = values[i];
    const u32 bits = bits_of(value);
    stream = (stream ^ (bits == 0x80000000u ? 0u : bits)) * 0x9E3779B97F4A7C15ull;  // -0 is 0
    stream ^= stream >> 32;
    const double centred = static_cast<double>(value - centre[i]);
    squares += centred * centred;
  }
  const bool apart = squares > 0;
  const double step = apart ? sqrt(squares) / kLengthOfRounded : 0;
  const double scale = twice_step * static_cast<double>(static_cast<float>(step)) / quantum;
  streams[row] = stream;
  inverses[row] = apart ? 1 / step : 0;
  scales[row] = static_cast<float>(scale < kLargestScale ? scale : kLargestScale);
}

// A thread two values: the lower half of a word is the first.
NEARFIELD_KERNEL round_rows(NEARFIELD_GLOBAL const float* rows,
                            NEARFIELD_GLOBAL const float* centre, nearfield::u32 count,
                            nearfield::u32 cols, NEARFIELD_GLOBAL const double* inverses,
                            NEARFIELD_GLOBAL nearfield::u32* rounded) {
  using namespace nearfield::device;
  using nearfield::i32;
  using nearfield::u32;
  using nearfield::u64;
  const u32 pairs = (cols + 1) / 2;
  const u32 row = block_y();
  const u32 pair = first_of_this();
  if (pair >= pairs) return;
  u32 word = 0;
  for (u32 i = 0; i < 2; ++i) {
    const u32 column = 2 * pair + i;
    if (column >= cols) continue;
    const float centred = rows[static_cast<u64>(row) * cols + column] - centre[column];
    const double value = rint(static_cast<double>(centred) * inverses[row]);
    word |= (static_cast<u32>(static_cast<i32>(value)) & 0xFFFFu) << (16 * i);
  }
  if (row < count) rounded[static_cast<u64>(row) * pairs + pair] = word;
}

// A thread a vector: random codes.
NEARFIELD_KERNEL start_codes(NEARFIELD_GLOBAL const nearfield::u64* streams, nearfield::u64 seed,
                             nearfield::u32 count, nearfield::u32 codebooks,
                             nearfield::u32 codewords, NEARFIELD_GLOBAL nearfield::u8* best) {
  using namespace nearfield::device;
  using nearfield::u32;
  using nearfield::u64;
  const u32 vector = first_of_this();
  if (vector >= count) return;
  NEARFIELD_GLOBAL nearfield::u8* const own = best + static_cast<u64>(vector) * codebooks;
  for (u32 first = 0; first < codebooks; first += 4) {
    const FourWords bits = dice(seed, streams[vector], kStartRound, first);
    for (u32 i = 0; i < 4 && first + i < codebooks; ++i) {
      own[first + i] = static_cast<nearfield::u8>(bits.words[i] & (codewords - 1));
    }
  }
}

// A thread a vector: the best codes, of which `perturbed` are made random, each with the
// probability of what is needed over what is left. All codebooks must be looked at then.
NEARFIELD_KERNEL perturb_codes(NEARFIELD_GLOBAL const nearfield::u64* streams, nearfield::u64 seed,
                               nearfield::u32 round, nearfield::u32 perturbed, nearfield::u32 count,
                               nearfield::u32 codebooks, nearfield::u32 codewords,
                               NEARFIELD_GLOBAL const nearfield::u8* best,
                               NEARFIELD_GLOBAL nearfield::u8* codes,
                               NEARFIELD_GLOBAL nearfield::u64* stale) {
  using namespace nearfield::device;
  using nearfield::u32;
  using nearfield::u64;
  const u32 vector = first_of_this();
  if (vector >= count) return;
  const u64 begin = static_cast<u64>(vector) * codebooks;
  u32 needed = perturbed < codebooks ? perturbed : codebooks;
  for (u32 first = 0; first < codebooks; first += 4) {
    const FourWords bits = dice(seed, streams[vector], round, first);
    for (u32 i = 0; i < 4 && first + i < codebooks; ++i) {
      // The upper 24 bits say whether, the lower 8 which.
      const u32 own = bits.words[i];
      const u64 left = codebooks - (first + i);
      const bool changes = (own >> 8) * left < static_cast<u64>(needed) << 24;
      codes[begin + first + i] =
          changes ? static_cast<nearfield::u8>(own & (codewords - 1)) : best[begin + first + i];
      needed -= changes ? 1 : 0;
    }
  }
  stale[vector] = ~static_cast<u64>(0);
}

// 16 threads a vector: the squared distance from what its codes stand for, in as many partial sums.
// Codes are kept where it is less, or where these are the first. Rows of `words` are `padded`
// values.
NEARFIELD_KERNEL keep_better(NEARFIELD_GLOBAL const float* rows,
                             NEARFIELD_GLOBAL const float* centre, nearfield::u32 count,
                             nearfield::u32 cols, NEARFIELD_GLOBAL const float* words,
                             nearfield::u32 padded, nearfield::u32 codebooks,
                             nearfield::u32 codewords, nearfield::u32 are_first,
                             NEARFIELD_GLOBAL const nearfield::u8* codes,
                             NEARFIELD_GLOBAL nearfield::u8* best, NEARFIELD_GLOBAL float* costs) {
  NEARFIELD_BLOCK float parts[nearfield::device::kThreads];
  using namespace nearfield::device;
  using nearfield::u32;
  using nearfield::u64;
  const u32 vector = block_x() * (kThreads / kPartsOfACost) + thread() / kPartsOfACost;
  const u32 part = thread() % kPartsOfACost;
  const bool there = vector < count;
  const u64 begin = static_cast<u64>(vector) * codebooks;
  float sum = 0;
  for (u32 column = part; there && column < cols; column += kPartsOfACost) {
    float rest = rows[static_cast<u64>(vector) * cols + column] - centre[column];
    for (u32 k = 0; k < codebooks; ++k) {
      const u32 word = k * codewords + codes[begin + k];
      rest = rest - words[static_cast<u64>(word) * padded + column];
    }
    sum = sum + rest * rest;
  }
  parts[thread()] = sum;
  for (u32 apart = kPartsOfACost / 2; apart > 0; apart /= 2) {
    sync();
    if (part < apart) parts[thread()] = parts[thread()] + parts[thread() + apart];
  }
  sync();
  const float found = parts[thread() - part];
  const bool better = there && (are_first != 0 || found < costs[vector]);
  sync();  // all have read the cost
  if (!better) return;
  for (u32 k = part; k < codebooks; k += kPartsOfACost) best[begin + k] = codes[begin + k];
  if (part == 0) costs[vector] = found;
}
