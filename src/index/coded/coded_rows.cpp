#include "index/coded/coded_rows.hpp"

#include <cmath>
#include <cstring>

#include "code/quantizer_state.hpp"
#include "core/checked.hpp"
#include "core/decode.hpp"
#include "core/fail.hpp"
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

std::vector<double> squared_norms(MatrixView floats) {
  std::vector<double> norms;
  norms.reserve(static_cast<std::size_t>(floats.rows()));
  for (std::int64_t row = 0; row < floats.rows(); ++row) {
    const auto* const values = reinterpret_cast<const float*>(floats.row(row));
    double sum = 0;
    for (std::int64_t i = 0; i < floats.cols(); ++i) {
      sum += static_cast<double>(values[i]) * static_cast<double>(values[i]);
    }
    norms.push_back(sum);
  }
  return norms;
}

std::vector<float> norms_of_codes(const Quantizer& quantizer, MatrixView codes,
                                  const Context& context) {
  const std::vector<double> norms = squared_norms(quantizer.decode(codes, context));
  return {norms.begin(), norms.end()};
}

// Even steps from the smallest to the largest: where each begins, or its middle.
std::vector<float> norm_levels_of(const std::vector<float>& norms, CodedNorms kept) {
  const auto [least, most] = std::ranges::minmax(norms);
  const double step = (static_cast<double>(most) - static_cast<double>(least)) / kByteEntries;
  const double within = kept == CodedNorms::byte ? 0.5 : 0;
  std::vector<float> levels;
  for (std::int64_t i = 0; i < kByteEntries; ++i) {
    const double above = (static_cast<double>(i) + within) * step;
    levels.push_back(static_cast<float>(static_cast<double>(least) + above));
  }
  return levels;
}

// Of exact norms the last that begins at or below it, else the nearest. The first and the last
// level also take what lies outside.
std::uint8_t norm_level_of(const std::vector<float>& levels, float norm, CodedNorms kept) {
  const auto above = std::ranges::upper_bound(levels, norm);
  if (above == levels.begin()) return 0;
  auto level = above - levels.begin() - 1;
  if (kept == CodedNorms::byte && above != levels.end() && *above - norm < norm - *(above - 1)) {
    ++level;
  }
  return static_cast<std::uint8_t>(level);
}

Matrix training_sample(MatrixView rows, std::int64_t most) {
  const std::int64_t count = std::min(rows.rows(), most);
  Matrix sample(rows.dtype(), count, rows.cols());
  const auto bytes = static_cast<std::size_t>(row_bytes(rows.dtype(), rows.cols()));
  std::int64_t taken = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::byte* const row = rows.row(i * rows.rows() / count);
    if (row_is_finite(rows.dtype(), row, rows.cols())) std::memcpy(sample.row(taken++), row, bytes);
  }
  if (taken == count) return sample;
  Matrix finite(rows.dtype(), taken, rows.cols());
  for (std::int64_t i = 0; i < taken; ++i) std::memcpy(finite.row(i), sample.row(i), bytes);
  return finite;
}

}  // namespace

void check_coded_values(MatrixView rows) {
  std::vector<double> values(static_cast<std::size_t>(rows.cols()));
  const auto too_large = [](double value) { return std::abs(value) > kMostOfAValue; };
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
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
  return static_cast<std::int64_t>((state.coding.values.size() + state.decoding.values.size() +
                                    state.rotation.size() + norm_levels.size()) *
                                   sizeof(float));
}

SharedCodedTrained train_coded(MatrixView rows, const CodedParameters& parameters,
                               const Context& context) {
  const Matrix sample = training_sample(rows, parameters.train);
  if (sample.rows() < parameters.codewords()) return nullptr;
  Context seeded = context;
  seeded.seed = parameters.seed;
  return saying_what_is_too_large([&] {
    Quantizer quantizer = Quantizer::train(sample, parameters.quantizer, seeded);
    std::vector<float> levels;
    if (parameters.norms != CodedNorms::none) {
      const Matrix codes = quantizer.encode(sample, context);
      levels = norm_levels_of(norms_of_codes(quantizer, codes, context), parameters.norms);
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
      [&] { return quantizer.encode(finite.rows() > 0 ? finite.view() : rows, context); });
  std::vector<float> norms;
  if (kept_norms_ != CodedNorms::none) norms = norms_of_codes(quantizer, codes, context);
  for (std::int64_t i = 0; i < rows.rows(); ++i) {
    for (std::int64_t column = 0; column < codes.cols(); ++column) {
      code(at + i, column) = std::to_integer<std::uint8_t>(codes.row(i)[column]);
    }
    if (norms.empty()) continue;
    // Who is never found must not be the shortest of all.
    const bool found = finite.rows() == 0 || row_is_finite(rows.dtype(), rows.row(i), rows.cols());
    const float norm = found ? norms[static_cast<std::size_t>(i)] : trained.norm_levels.back();
    code(at + i, columns_ - 1) = norm_level_of(trained.norm_levels, norm, kept_norms_);
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
  return std::ssize(chunks_) * CodeBlocks::bytes_for(parameters_, chunk_rows_) + trained_->bytes();
}

std::shared_ptr<const CodedRows> CodedRows::grown(const std::shared_ptr<const CodedRows>& before,
                                                  MatrixView rows,
                                                  const SharedCodedTrained& trained,
                                                  const CodedParameters& parameters,
                                                  const Context& context) {
  std::vector<Chunk> chunks = before != nullptr ? before->chunks_ : std::vector<Chunk>();
  std::int64_t row = before != nullptr ? before->rows_ : 0;
  if (row == rows.rows()) return before;
  while (row < rows.rows()) {
    auto blocks = std::make_shared<CodeBlocks>(parameters, kChunkRows);
    const std::int64_t there = row % kChunkRows;
    if (there > 0) {
      blocks->copy(chunks.back().blocks, chunks.back().norms, 0, there, 0);
      chunks.pop_back();
    }
    const std::int64_t count = std::min(kChunkRows - there, rows.rows() - row);
    blocks->encode(rows.slice(row, count), there, *trained, context);
    chunks.push_back({blocks, blocks->blocks(), blocks->norms(), blocks->least_norm()});
    row += count;
  }
  return std::make_shared<const CodedRows>(trained, parameters, row, kChunkRows, std::move(chunks));
}

std::int64_t CodedRows::bytes_to_grow(std::int64_t rows_before, std::int64_t rows,
                                      const CodedParameters& parameters) {
  const std::int64_t chunks = divide_up(rows, kChunkRows) - rows_before / kChunkRows;
  return chunks * CodeBlocks::bytes_for(parameters, kChunkRows);
}

}  // namespace nearfield
