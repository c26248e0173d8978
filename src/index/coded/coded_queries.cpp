#include "index/coded/coded_queries.hpp"

#include <algorithm>
#include <cmath>

#include "code/product_codes.hpp"
#include "code/quantizer_state.hpp"
#include "core/checked.hpp"
#include "core/decode.hpp"
#include "core/fail.hpp"
#include "core/float_environment.hpp"
#include "core/tasks.hpp"
#include "distance/kernels.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kQueriesOfATask = 16;

// Where codewords may differ from 0, in whole steps of PreparedQuery: the others add nothing to a
// product, to the bit.
Range columns_of(int codebook, const QuantizerOptions& quantizer, std::int64_t cols) {
  if (quantizer.kind != QuantizerKind::pq) return {0, cols};
  constexpr std::int64_t kStep = 8;
  const std::int64_t begin = first_column(codebook, quantizer.codebooks, cols);
  const std::int64_t end = first_column(codebook + 1, quantizer.codebooks, cols);
  return {begin / kStep * kStep, std::min(round_up(end, kStep), cols)};
}

void check_query_values(std::span<const double> values, std::int64_t query) {
  const auto usual = [](double value) { return std::abs(value) <= kMostOfAValue; };
  if (!std::ranges::all_of(values, usual)) {
    fail(ErrorCode::invalid_argument,
         "query {} has a value beyond {:g}, which no table of codes holds: scale the vectors",
         query, kMostOfAValue);
  }
}

}  // namespace

void check_coded_queries(MatrixView queries) {
  if (!has_not_finite(queries.dtype())) return;  // nor anything as large
  std::vector<double> values(static_cast<std::size_t>(queries.cols()));
  for (std::int64_t query = 0; query < queries.rows(); ++query) {
    if (!row_is_finite(queries.dtype(), queries.row(query), queries.cols())) continue;
    decode_row(queries.dtype(), queries.row(query), queries.cols(), values.data());
    check_query_values(values, query);
  }
}

CodedQueries::CodedQueries(const Piece& queries, const CodedRows& codes, MetricSpec metric, Isa isa,
                           int threads, const Monitor& monitor)
    : codes_(codes),
      parameters_(codes.parameters()),
      distance_(metric.metric != Metric::inner_product),
      first_(queries.first),
      tables_(queries.view.rows() * entries()),
      least_(static_cast<std::size_t>(queries.view.rows() * parameters_.quantizer.codebooks)),
      asked_(static_cast<std::size_t>(queries.view.rows())) {
  run_tasks(divide_up(queries.view.rows(), kQueriesOfATask), threads, [&](std::int64_t task, int) {
    const DefaultFloats floats;
    const std::int64_t begin = queries.first + task * kQueriesOfATask;
    make(queries, {begin, std::min(begin + kQueriesOfATask, queries.range().end)}, isa, monitor);
  });
}

std::int64_t CodedQueries::entries() const {
  return std::int64_t{parameters_.quantizer.codebooks} * parameters_.codewords();
}

std::int64_t CodedQueries::bytes_per_query(const CodedParameters& parameters) {
  const std::int64_t codebooks = parameters.quantizer.codebooks;
  return codebooks * (parameters.codewords() + 1) * static_cast<std::int64_t>(sizeof(float)) +
         static_cast<std::int64_t>(sizeof(Asked));
}

std::int64_t CodedQueries::bytes_per_thread(const CodedParameters& parameters, std::int64_t cols) {
  const std::int64_t words = std::int64_t{parameters.quantizer.codebooks} * parameters.codewords();
  return (words + cols + 8) * static_cast<std::int64_t>(sizeof(double));
}

void CodedQueries::make(const Piece& queries, Range range, Isa isa, const Monitor& monitor) {
  const MatrixView books = codes_.trained().quantizer.codebooks();
  const KeyKernel products = distance_kernels(isa)
                                 .metrics[static_cast<std::size_t>(Metric::inner_product)]
                                 .keys[static_cast<std::size_t>(books.dtype())];
  PreparedQuery prepared(queries.view.dtype(), queries.view.cols(), isa);
  std::vector<double> keys(static_cast<std::size_t>(books.rows()));
  for (std::int64_t query = range.begin; query < range.end; ++query) {
    monitor.check();
    if (!prepared.load(queries.row(query))) continue;
    check_query_values(prepared.numbers(), query);
    for (int k = 0; k < parameters_.quantizer.codebooks; ++k) {
      const Range columns = columns_of(k, parameters_.quantizer, books.cols());
      const std::int64_t word = std::int64_t{k} * parameters_.codewords();
      products({.query = prepared.data() + columns.begin * std::int64_t{sizeof(double)},
                .rows = books.row(word) + row_bytes(books.dtype(), columns.begin),
                .stride = books.stride_bytes(),
                .row_bytes = row_bytes(books.dtype(), columns.size()),
                .picks = nullptr,
                .count = parameters_.codewords(),
                .p = 0,
                .keys = keys.data() + word});
    }
    take(query, keys, prepared.numbers());
  }
}

// products: negative, as keys are.
void CodedQueries::take(std::int64_t query, std::span<const double> products,
                        std::span<const double> values) {
  Asked& asked = asked_[static_cast<std::size_t>(query - first_)];
  asked.finite = true;
  const std::vector<double>& word_norms = codes_.trained().word_norms;
  const bool adds_norms = distance_ && parameters_.norms == CodedNorms::none;
  float* entry = tables_.data() + (query - first_) * entries();
  float* least = least_.data() + (query - first_) * parameters_.quantizer.codebooks;
  std::size_t word = 0;
  for (int k = 0; k < parameters_.quantizer.codebooks; ++k) {
    float* const table = entry;
    for (int i = 0; i < parameters_.codewords(); ++i, ++word) {
      const double product = products[word];
      *entry++ = static_cast<float>(!distance_   ? product
                                    : adds_norms ? word_norms[word] + 2 * product
                                                 : 2 * product);
    }
    const auto [smallest, largest] = std::minmax_element(table, entry);
    *least++ = *smallest;
    asked.least += static_cast<double>(*smallest);
    asked.most += static_cast<double>(std::max(std::abs(*smallest), std::abs(*largest)));
  }
  if (!distance_) return;
  for (const double value : values) asked.base += value * value;
}

double CodedQueries::key(std::int64_t query, const CodedRows::Chunk& chunk,
                         std::int64_t row) const {
  const float* table = tables(query);
  const int codewords = parameters_.codewords();
  const std::uint8_t* code = block_of(chunk, row) + row % kScanRows;
  float sum = 0;
  if (parameters_.quantizer.bits == 8) {
    for (int k = 0; k < parameters_.quantizer.codebooks; ++k, code += kScanRows) {
      sum += table[*code];
      table += codewords;
    }
  } else {
    for (int k = 0; k < parameters_.quantizer.codebooks; ++k) {
      sum += table[k % 2 == 0 ? *code & 15 : *code >> 4];
      table += codewords;
      if (k % 2 == 1) code += kScanRows;
    }
  }
  return key_of_sum(query, chunk, row, sum);
}

CodedQueries::BlockSums CodedQueries::sums(std::int64_t query, const CodedRows::Chunk& chunk,
                                           std::int64_t row, const CodeScanKernels& kernels) const {
  BlockSums sums;
  kernels.sum({.block = block_of(chunk, row),
               .codebooks = parameters_.quantizer.codebooks,
               .tables = tables(query),
               .sums = sums.data()});
  return sums;
}

double CodedQueries::key_of_sum(std::int64_t query, const CodedRows::Chunk& chunk, std::int64_t row,
                                float sum) const {
  if (parameters_.norms == CodedNorms::exact) sum += chunk.norms[row];
  if (parameters_.norms == CodedNorms::byte) {  // the last column
    const std::int64_t column = (parameters_.columns() - 1) * kScanRows;
    sum += codes_.norm_floors()[block_of(chunk, row)[column + row % kScanRows]];
  }
  const double key = of(query).base + static_cast<double>(sum);
  return distance_ ? std::max(key, 0.0) : key;
}

bool CodedQueries::round(std::int64_t query, double threshold, const CodeScanKernels& kernels,
                         std::uint8_t* out) const {
  const Asked& asked = of(query);
  const std::span<const float> norms = codes_.norm_floors();
  const double limit = threshold - asked.base;
  // What float32 may have taken off a sum: each step a part in 2^24 of what is there, twice that
  // here; and float64 of key and limit.
  constexpr double kOfAStep = 0x1p-23;
  constexpr double kOfAKey = 0x1p-40;
  const double lost =
      (parameters_.quantizer.codebooks + 1) * kOfAStep * (asked.most + std::abs(limit)) +
      kOfAKey * (asked.base + std::abs(threshold));
  const double least_norm = norms.empty() ? 0 : static_cast<double>(norms.front());
  const double room = limit + lost - asked.least - least_norm;
  if (!(room >= 0)) return false;
  // An entry above the smallest times the scale: rounding all of them up adds less than 1 to 253.
  constexpr double kMostScale = 1e30;
  const auto scale = static_cast<float>(std::min(kMostNear / room, kMostScale));
  const int codewords = parameters_.codewords();
  const float* table = tables(query);
  for (int k = 0; k < parameters_.quantizer.codebooks; ++k) {
    kernels.round_down(table, codewords, least(query)[k], scale, out);
    table += codewords;
    out += codewords;
  }
  if (parameters_.quantizer.bits == 4 && parameters_.quantizer.codebooks % 2 == 1) {
    std::fill_n(out, codewords, std::uint8_t{0});  // of an upper half that codes nothing
    out += codewords;
  }
  if (!norms.empty()) kernels.round_down(norms.data(), kByteEntries, norms.front(), scale, out);
  return true;
}

}  // namespace nearfield
