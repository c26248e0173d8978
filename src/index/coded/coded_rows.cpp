#include "index/coded/coded_rows.hpp"

#include <cmath>
#include <cstring>
#include <mutex>

#include "code/quantizer_memory.hpp"
#include "code/quantizer_state.hpp"
#include "core/checked.hpp"
#include "core/decode.hpp"
#include "core/fail.hpp"
#include "core/float_environment.hpp"
#include "core/tasks.hpp"
#include "index/coded/norm_levels.hpp"
#include "index/part.hpp"

namespace nearfield {
namespace {

// A copy in which rows that are not finite are zeros; empty if all are.
Matrix with_finite_rows(MatrixView rows) {
  Matrix copy;
  if (!has_not_finite(rows.dtype())) return copy;
  const auto bytes = static_cast<std::size_t>(row_bytes(rows.dtype(), rows.cols()));
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    if (row_is_finite(rows.dtype(), rows.row(row), rows.cols())) continue;
    if (copy.rows() == 0) {
      copy = Matrix(rows.dtype(), rows.rows(), rows.cols());
      for (std::int64_t i = 0; i < rows.rows(); ++i) std::memcpy(copy.row(i), rows.row(i), bytes);
    }
    std::memset(copy.row(row), 0, bytes);
  }
  return copy;
}

// An index has counted so many bytes, and keeps its limit to itself: without one, local search
// would take four times its scratch.
Context within_counted(const Context& context, std::int64_t bytes) {
  Context own = context;
  own.memory_limit = bytes;
  return own;
}

Matrix encoded_within(const Quantizer& quantizer, MatrixView rows, const Context& context) {
  const std::int64_t bytes = rows.rows() * quantizer.code_bytes() +
                             encoding_bytes(quantizer.options(), rows.rows(), rows.cols(),
                                            resolve_threads(context.threads));
  return quantizer.encode(rows, within_counted(context, bytes));
}

// Rows of an index have numbers of their own: those of a piece of them say nothing.
template <class Code>
auto saying_what_is_too_large(const Code& code) {
  try {
    return code();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_finite) throw;
    fail(ErrorCode::invalid_argument,
         "a vector has a value beyond {:g}, which has no code: scale the vectors, or use flat",
         kMostOfAValue);
  }
}

std::vector<double> squared_norms(MatrixView rows) {
  const DefaultFloats floats;
  std::vector<double> norms;
  norms.reserve(static_cast<std::size_t>(rows.rows()));
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    const auto* const values = reinterpret_cast<const float*>(rows.row(row));
    double sum = 0;
    for (std::int64_t i = 0; i < rows.cols(); ++i) {
      sum += static_cast<double>(values[i]) * static_cast<double>(values[i]);
    }
    norms.push_back(sum);
  }
  return norms;
}

// Evenly taken of all of them, as if they lay behind each other, without those that are not finite.
Matrix training_sample(std::span<const MatrixView> runs, std::int64_t most) {
  std::int64_t total = 0;
  for (const MatrixView& run : runs) total += run.rows();
  const std::int64_t count = std::min(total, most);
  const DType dtype = runs.front().dtype();
  const std::int64_t cols = runs.front().cols();
  Matrix sample(dtype, count, cols);
  const auto bytes = static_cast<std::size_t>(row_bytes(dtype, cols));
  std::int64_t taken = 0;
  std::int64_t i = 0;
  std::int64_t first = 0;
  for (const MatrixView& run : runs) {
    for (; i < count && i * total / count < first + run.rows(); ++i) {
      const std::byte* const row = run.row(i * total / count - first);
      if (row_is_finite(dtype, row, cols)) std::memcpy(sample.row(taken++), row, bytes);
    }
    first += run.rows();
  }
  if (taken == count) return sample;
  Matrix finite(dtype, taken, cols);
  for (std::int64_t row = 0; row < taken; ++row) {
    std::memcpy(finite.row(row), sample.row(row), bytes);
  }
  return finite;
}

}  // namespace

std::vector<float> norms_of_codes(const Quantizer& quantizer, MatrixView codes,
                                  const Context& context) {
  const DefaultFloats floats;
  const std::vector<double> norms = squared_norms(quantizer.decode(codes, context));
  return {norms.begin(), norms.end()};
}

double longest_norm(const Quantizer& quantizer) {
  constexpr double kMostOfANorm = 1e38;  // sums of keys are of float32
  const DefaultFloats floats;
  const std::vector<double> norms = squared_norms(quantizer.codebooks());
  const std::size_t words = std::size_t{1} << quantizer.options().bits;
  double length = 0;
  for (std::size_t first = 0; first < norms.size(); first += words) {
    length += std::sqrt(std::ranges::max(std::span(norms).subspan(first, words)));
  }
  return std::min(length * length, kMostOfANorm);
}

void check_coded_values(MatrixView rows, const Monitor& monitor) {
  constexpr std::int64_t kRowsPerCheck = 1 << 10;
  if (!has_not_finite(rows.dtype())) return;  // nor anything as large
  std::vector<double> values(static_cast<std::size_t>(rows.cols()));
  const auto too_large = [](double value) { return std::abs(value) > kMostOfAValue; };
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    if (row % kRowsPerCheck == 0) monitor.check();
    if (!row_is_finite(rows.dtype(), rows.row(row), rows.cols())) continue;  // never found
    decode_row(rows.dtype(), rows.row(row), rows.cols(), values.data());
    if (const auto found = std::ranges::find_if(values, too_large); found != values.end()) {
      fail(ErrorCode::invalid_argument,
           "vector {} of those to add has the value {:g}, and codes hold none beyond {:g}: scale "
           "the "
           "vectors, or use flat",
           row, *found, kMostOfAValue);
    }
  }
}

CodedTrained::CodedTrained(Quantizer trained, std::vector<float> levels)
    : quantizer(std::move(trained)),
      norm_levels(std::move(levels)),
      word_norms(squared_norms(quantizer.codebooks())) {}

std::int64_t CodedTrained::bytes() const {
  const Quantizer::State& state = quantizer.state();
  const std::size_t floats = state.coding.values.size() + state.decoding.values.size() +
                             state.rotation.size() + norm_levels.size();
  const std::size_t bytes = floats * sizeof(float) + word_norms.size() * sizeof(double);
  // Of local search, once something was encoded.
  const std::lock_guard lock(state.kept->mutex);
  const Codebooks& books = state.coding;
  const std::int64_t tables = state.kept->tables != nullptr
                                  ? IcmTables::bytes_for(books.count, books.codewords, books.cols)
                                  : 0;
  return static_cast<std::int64_t>(bytes) + tables;
}

SharedCodedTrained train_coded(std::span<const PartView> parts, MatrixView behind,
                               const CodedParameters& parameters, const Context& context) {
  std::vector<MatrixView> runs;
  for_each_run(parts, [&](const PartView& view, std::int64_t begin, std::int64_t end) {
    runs.push_back(view.rows().slice(begin, end - begin));
  });
  if (behind.rows() > 0) runs.push_back(behind);
  if (runs.empty()) return nullptr;
  const Matrix sample = training_sample(runs, parameters.train);
  if (sample.rows() < parameters.codewords()) return nullptr;
  Context seeded =
      within_counted(context, training_bytes(parameters.quantizer, sample.rows(), sample.cols(),
                                             resolve_threads(context.threads)));
  seeded.seed = parameters.seed;
  return saying_what_is_too_large([&] {
    Quantizer quantizer = Quantizer::train(sample, parameters.quantizer, seeded);
    std::vector<float> levels;
    if (parameters.norms != CodedNorms::none) {
      const Matrix codes = encoded_within(quantizer, sample, context);
      const std::vector<float> norms = norms_of_codes(quantizer, codes, context);
      NormSample some(std::ssize(norms));
      some.add(norms);
      levels = some.levels(parameters.norms, longest_norm(quantizer));
    }
    return std::make_shared<const CodedTrained>(std::move(quantizer), std::move(levels));
  });
}

CodeBlocks::CodeBlocks(const CodedParameters& parameters, std::int64_t capacity)
    : columns_(parameters.columns()),
      kept_norms_(parameters.norms),
      capacity_(round_up(capacity, kScanRows)),
      blocks_(capacity_ * columns_),
      norms_(kept_norms_ == CodedNorms::exact ? capacity_ : 0) {
  std::fill_n(blocks_.data(), capacity_ * columns_, std::uint8_t{0});
  if (kept_norms_ == CodedNorms::exact) std::fill_n(norms_.data(), capacity_, 0.0F);
}

std::int64_t CodeBlocks::bytes_for(const CodedParameters& parameters, std::int64_t capacity) {
  return round_up(capacity, kScanRows) * parameters.bytes_per_row();
}

void CodeBlocks::encode(MatrixView rows, std::int64_t at, const CodedTrained& trained,
                        const Context& context) {
  const Matrix finite = with_finite_rows(rows);
  const Quantizer& quantizer = trained.quantizer;
  const Matrix codes = saying_what_is_too_large(
      [&] { return encoded_within(quantizer, finite.rows() > 0 ? finite.view() : rows, context); });
  std::vector<float> norms;
  if (kept_norms_ != CodedNorms::none) norms = norms_of_codes(quantizer, codes, context);
  for (std::int64_t i = 0; i < rows.rows() && !norms.empty() && finite.rows() > 0; ++i) {
    // Who is never found must not be the shortest of all.
    if (row_is_finite(rows.dtype(), rows.row(i), rows.cols())) continue;
    norms[static_cast<std::size_t>(i)] = trained.norm_levels.back();
  }
  put(codes, norms, trained.norm_levels, at);
}

void CodeBlocks::put(MatrixView codes, std::span<const float> norms,
                     const std::vector<float>& levels, std::int64_t at) {
  const DefaultFloats floats;
  for (std::int64_t i = 0; i < codes.rows(); ++i) {
    for (std::int64_t column = 0; column < codes.cols(); ++column) {
      code(at + i, column) = std::to_integer<std::uint8_t>(codes.row(i)[column]);
    }
    if (norms.empty()) continue;
    const float norm = norms[static_cast<std::size_t>(i)];
    code(at + i, columns_ - 1) = norm_level_of(levels, norm, kept_norms_);
    put_norm(at + i, norm);
  }
}

void CodeBlocks::put_norm(std::int64_t row, float norm) {
  if (kept_norms_ != CodedNorms::exact) return;
  norms_[row] = norm;
  least_norm_ = std::min(least_norm_, norm);
}

void CodeBlocks::copy(const std::uint8_t* blocks, const float* norms, std::int64_t first,
                      std::int64_t count, std::int64_t at) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = first + i;
    const std::uint8_t* const from = blocks + row / kScanRows * columns_ * kScanRows;
    for (std::int64_t column = 0; column < columns_; ++column) {
      code(at + i, column) = from[column * kScanRows + row % kScanRows];
    }
    if (kept_norms_ == CodedNorms::exact) put_norm(at + i, norms[row]);
  }
}

CodedRows::CodedRows(SharedCodedTrained trained, const CodedParameters& parameters,
                     std::int64_t rows, std::int64_t chunk_rows, std::vector<Chunk> chunks)
    : trained_(std::move(trained)),
      parameters_(parameters),
      rows_(rows),
      chunk_rows_(chunk_rows),
      chunks_(std::move(chunks)),
      norm_floors_(trained_->norm_levels) {
  // Of a row that came after the training, a norm may be below all levels.
  if (parameters.norms != CodedNorms::exact) return;
  for (const Chunk& chunk : chunks_) {
    norm_floors_.front() = std::min(norm_floors_.front(), chunk.least_norm);
  }
}

std::int64_t CodedRows::bytes() const {
  return std::ssize(chunks_) * CodeBlocks::bytes_for(parameters_, chunk_rows_);
}

std::shared_ptr<const CodedRows> CodedRows::grown(const std::shared_ptr<const CodedRows>& before,
                                                  MatrixView behind,
                                                  const SharedCodedTrained& trained,
                                                  const CodedParameters& parameters,
                                                  const Context& context) {
  if (behind.rows() == 0) return before;
  std::vector<Chunk> chunks = before != nullptr ? before->chunks_ : std::vector<Chunk>();
  std::int64_t row = before != nullptr ? before->rows_ : 0;
  for (std::int64_t done = 0; done < behind.rows();) {
    auto blocks = std::make_shared<CodeBlocks>(parameters, kChunkRows);
    const std::int64_t there = row % kChunkRows;
    if (there > 0) {
      blocks->copy(chunks.back().blocks, chunks.back().norms, 0, there, 0);
      chunks.pop_back();
    }
    const std::int64_t count = std::min(kChunkRows - there, behind.rows() - done);
    blocks->encode(behind.slice(done, count), there, *trained, context);
    chunks.push_back({blocks, blocks->blocks(), blocks->norms(), blocks->least_norm()});
    row += count;
    done += count;
  }
  return std::make_shared<const CodedRows>(trained, parameters, row, kChunkRows, std::move(chunks));
}

std::shared_ptr<const CodedRows> CodedRows::gathered(std::span<const PartView> parts,
                                                     const SharedCodedTrained& trained,
                                                     const CodedParameters& parameters,
                                                     const Context& context) {
  const std::int64_t rows = live_rows(parts);
  std::vector<std::shared_ptr<CodeBlocks>> blocks;
  for (std::int64_t row = 0; row < rows; row += kChunkRows) {
    blocks.push_back(std::make_shared<CodeBlocks>(parameters, kChunkRows));
  }
  // Calls put(blocks, place in them, first, count) for what goes to each.
  const auto divide = [&](std::int64_t at, std::int64_t count, const auto& put) {
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t place = (at + done) % kChunkRows;
      const std::int64_t some = std::min(kChunkRows - place, count - done);
      put(*blocks[static_cast<std::size_t>((at + done) / kChunkRows)], place, done, some);
      done += some;
    }
  };
  const Monitor monitor(context, rows);
  for_each_code(
      parts,
      [&](const Chunk& chunk, Range range, std::int64_t at) {
        monitor.check();
        divide(at, range.size(), [&](CodeBlocks& to, std::int64_t place, auto first, auto count) {
          to.copy(chunk.blocks, chunk.norms, range.begin + first, count, place);
        });
      },
      [&](MatrixView uncoded, std::int64_t at) {
        divide(at, uncoded.rows(), [&](CodeBlocks& to, std::int64_t place, auto first, auto count) {
          to.encode(uncoded.slice(first, count), place, *trained, context);
        });
      });
  std::vector<Chunk> chunks;
  for (const auto& own : blocks) {
    chunks.push_back({own, own->blocks(), own->norms(), own->least_norm()});
  }
  return std::make_shared<const CodedRows>(trained, parameters, rows, kChunkRows,
                                           std::move(chunks));
}

std::int64_t CodedRows::bytes_to_grow(std::int64_t rows_before, std::int64_t rows,
                                      const CodedParameters& parameters) {
  const std::int64_t chunks = divide_up(rows, kChunkRows) - rows_before / kChunkRows;
  return chunks * CodeBlocks::bytes_for(parameters, kChunkRows);
}

}  // namespace nearfield
