#include "code/quantizer_memory.hpp"

#include <algorithm>

#include "code/gpu/lsq_device.hpp"
#include "code/icm_tables.hpp"
#include "code/local_search.hpp"
#include "code/nearest_centroids.hpp"
#include "code/procrustes.hpp"
#include "code/product_codes.hpp"
#include "code/residual_codes.hpp"
#include "code/train_lsq.hpp"
#include "core/checked.hpp"
#include "core/tasks.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kMostAtOnce = 1 << 14;
constexpr std::int64_t kLeastAtOnce = 1 << 8;  // where memory is short

}  // namespace

std::int64_t bytes_of_a_code(const QuantizerOptions& options) {
  return divide_up(std::int64_t{options.codebooks} * options.bits, 8);
}

// The rows as floats, and what each kind makes of them.
std::int64_t training_bytes(const QuantizerOptions& options, std::int64_t rows, std::int64_t cols,
                            int threads, bool on_device) {
  const std::int64_t floats = rows * cols * 4;
  const std::int64_t codewords = std::int64_t{options.codebooks} << options.bits;
  const std::int64_t books = codewords * cols * 4;
  constexpr std::int64_t kOfAnAssignment = 64;  // a row's neighbour, in all its forms, and its code
  // The centroids of one k-means, their sums and what they are rounded to.
  const std::int64_t means = (cols << options.bits) * 16;
  switch (options.kind) {
    case QuantizerKind::pq:
      return floats + books + means + rows * options.codebooks * kOfAnAssignment;
    case QuantizerKind::opq: {
      // First rows are rotated and compared, by turns; last codewords, which are there twice then.
      const std::int64_t turning = std::max(rotate_bytes(std::max(rows, codewords), cols, threads),
                                            std::min(rows, kProductRows) * cols * 16);
      return 3 * floats + 2 * books + means + rows * options.codebooks * kOfAnAssignment +
             cols * cols * 48 + turning;
    }
    case QuantizerKind::rq:
      return 2 * floats + books + means + rows * kOfAnAssignment;
    case QuantizerKind::lsq:
      return floats + train_lsq_bytes(options, rows, cols, threads, on_device);
  }
  return 0;
}

std::int64_t encoding_bytes(const QuantizerOptions& options, std::int64_t rows, std::int64_t cols,
                            int threads, bool on_device) {
  const std::int64_t piece = std::min(rows, kMostAtOnce);
  const int m = options.codebooks;
  const int words = 1 << options.bits;
  std::int64_t bytes = piece * encoded_row_bytes(m, cols);
  if (options.kind == QuantizerKind::opq) bytes += rotate_bytes(piece, cols, threads);
  if (options.kind == QuantizerKind::rq) {
    return bytes + residual_codes_bytes(m, words, cols, options.beam, threads);
  }
  if (options.kind != QuantizerKind::lsq || m == 1) {
    bytes += NearestCentroids::bytes_for(
        words, options.kind == QuantizerKind::lsq ? cols : divide_up(cols, m), threads);
  } else {
    bytes += on_device ? LsqDevice::loading_bytes(m, words, cols)
                       : IcmTables::bytes_for(m, words, cols) +
                             local_search_bytes(m, words, cols, threads);
  }
  return bytes;
}

std::int64_t rows_at_once(const QuantizerOptions& options, std::int64_t rows, std::int64_t cols,
                          const Context& context, bool on_device) {
  std::int64_t piece = std::min(rows, kMostAtOnce);
  if (!context.memory_limit) return piece;
  const std::int64_t room = *context.memory_limit - rows * bytes_of_a_code(options);
  const int threads = resolve_threads(context.threads);
  while (piece > kLeastAtOnce && encoding_bytes(options, piece, cols, threads, on_device) > room) {
    piece = std::max(piece / 2, kLeastAtOnce);
  }
  return piece;
}

std::int64_t encoded_row_bytes(int codebooks, std::int64_t cols) {
  return 8 * cols + codebooks + 64;
}

}  // namespace nearfield
