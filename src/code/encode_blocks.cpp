#include "code/encode_blocks.hpp"

#include <algorithm>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "code/quantizer_state.hpp"
#include "core/fail.hpp"
#include "core/monitor.hpp"

namespace nearfield {
namespace {

// Of the rows some say which they are.
constexpr std::int64_t kRowsOfIdentity = 64;

class Identity {
 public:
  Identity() { XXH3_64bits_reset(&state_); }
  void add(const void* bytes, std::size_t count) { XXH3_64bits_update(&state_, bytes, count); }
  void add(std::int64_t number) { add(&number, sizeof(number)); }
  std::uint64_t sum() const { return XXH3_64bits_digest(&state_); }

 private:
  XXH3_state_t state_;
};

// Some rows: where they are, or in the buffer.
MatrixView rows_from(const RowSource& rows, std::int64_t first, std::int64_t count,
                     Matrix& buffer) {
  if (const auto all = rows.in_memory()) return all->slice(first, count);
  if (buffer.rows() == 0) {
    buffer = Matrix(rows.dtype(), std::min(kBlockOfRows, rows.rows()), rows.cols());
  }
  rows.read(first, count, buffer, 0);
  return buffer.view().slice(0, count);
}

// For a block, which has the rest of the memory and reports from `done` on.
Context for_a_block(const Context& context, std::int64_t done, std::int64_t total,
                    std::int64_t buffer_bytes) {
  Context own = context;
  if (own.memory_limit) {
    own.memory_limit = std::max<std::int64_t>(*own.memory_limit - buffer_bytes, 0);
  }
  if (context.progress) {
    own.progress = [&context, done, total](const Progress& progress) {
      context.progress({done + progress.done, total});
    };
  }
  return own;
}

// Says where rows that have no codes are, and what of a limit was left for them.
Matrix encoded_block(const Quantizer& quantizer, MatrixView rows, std::int64_t first,
                     std::int64_t buffer_bytes, const Context& context) {
  try {
    return quantizer.encode(rows, context);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::not_finite) {
      fail(error.code(), "of the {} rows from row {} on, {}", rows.rows(), first, error.what());
    }
    if (error.code() == ErrorCode::memory_limit && buffer_bytes > 0) {
      fail(error.code(),
           "beside {} bytes of the limit, for a block of {} rows and what is written "
           "of it, {}",
           buffer_bytes, rows.rows(), error.what());
    }
    throw;
  }
}

}  // namespace

void check_encoding(const Quantizer& quantizer, const RowSource& rows, const Context& context) {
  searches_on_device(quantizer.options(), context, "encoding");
  if (rows.cols() != quantizer.cols()) {
    fail(ErrorCode::invalid_argument, "the quantizer has {} columns, the rows have {}",
         quantizer.cols(), rows.cols());
  }
}

std::uint64_t encoding_identity(const Quantizer& quantizer, const RowSource& rows,
                                std::int64_t bytes_before, std::int64_t bytes_of_a_row) {
  const QuantizerOptions& options = quantizer.options();
  const Quantizer::State& state = quantizer.state();
  Identity identity;
  for (const std::int64_t number :
       {bytes_before, bytes_of_a_row, rows.rows(), rows.cols(),
        static_cast<std::int64_t>(rows.dtype()), static_cast<std::int64_t>(options.kind),
        std::int64_t{options.codebooks}, std::int64_t{options.bits}, std::int64_t{options.beam},
        std::int64_t{options.rounds}, std::int64_t{options.perturbed}, std::int64_t{options.sweeps},
        std::int64_t{options.random_order}, static_cast<std::int64_t>(quantizer.seed())}) {
    identity.add(number);
  }
  identity.add(state.coding.values.data(), state.coding.values.size() * sizeof(float));
  identity.add(state.rotation.data(), state.rotation.size() * sizeof(float));
  Matrix row(rows.dtype(), 1, rows.cols());
  const std::int64_t sampled = std::min(rows.rows(), kRowsOfIdentity);
  for (std::int64_t i = 0; i < sampled; ++i) {
    const std::int64_t at = i * (rows.rows() - 1) / std::max<std::int64_t>(sampled - 1, 1);
    const auto all = rows.in_memory();
    if (!all) rows.read(at, 1, row, 0);
    identity.add(all ? all->row(at) : row.row(0),
                 static_cast<std::size_t>(row_bytes(rows.dtype(), rows.cols())));
  }
  return identity.sum();
}

std::int64_t encode_blocks(const Quantizer& quantizer, const RowSource& rows, GrowingFile& file,
                           const BytesOfCodes& bytes_of, std::int64_t memory_of_bytes,
                           const Context& context) {
  const std::int64_t resumed = std::min(file.blocks() * kBlockOfRows, rows.rows());
  const std::int64_t read =
      rows.in_memory() ? 0
                       : std::min(kBlockOfRows, rows.rows()) * row_bytes(rows.dtype(), rows.cols());
  const std::int64_t buffer_bytes = read + memory_of_bytes;
  Matrix buffer;
  for (std::int64_t first = resumed; first < rows.rows(); first += kBlockOfRows) {
    const std::int64_t count = std::min(kBlockOfRows, rows.rows() - first);
    const Matrix codes =
        encoded_block(quantizer, rows_from(rows, first, count, buffer), first, buffer_bytes,
                      for_a_block(context, first, rows.rows(), buffer_bytes));
    file.append(bytes_of(codes));
  }
  return resumed;
}

}  // namespace nearfield
