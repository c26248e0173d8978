// First all codes go to a file that grows, row by row with their norms; then they are put in the
// order of an index, which takes as long as reading and writing them.
#include <nearfield/encode_index.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "code/encode_blocks.hpp"
#include "core/checked.hpp"
#include "core/fail.hpp"
#include "core/memory_errors.hpp"
#include "index/coded/coded_file.hpp"
#include "index/coded/coded_rows.hpp"
#include "index/coded/norm_levels.hpp"
#include "index/id_table.hpp"
#include "index/index_file.hpp"
#include "index/index_format.hpp"

namespace nearfield {
namespace {

// Rows that are put in order at a time: whole blocks of 64.
constexpr std::int64_t kRecordsAtOnce = 1 << 14;

constexpr std::int64_t kNormBytes = sizeof(float);

// What an index cannot say of a quantizer, and would encode without.
void check_usual(const QuantizerOptions& options, std::uint64_t seed) {
  const QuantizerOptions usual;
  if (options.kind == QuantizerKind::lsq &&
      (options.perturbed != usual.perturbed || options.sweeps != usual.sweeps ||
       options.random_order != usual.random_order)) {
    fail(ErrorCode::unsupported,
         "the quantizer perturbs {} codes, sweeps {} times and {}: an index encodes with {} and {} "
         "in the order of codebooks; train one so, or write a .u8bin file",
         options.perturbed, options.sweeps,
         options.random_order ? "in random order" : "in the order of codebooks", usual.perturbed,
         usual.sweeps);
  }
  if (seed > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    fail(ErrorCode::unsupported,
         "the quantizer has the seed {}, and that of an index is at most {}", seed,
         std::numeric_limits<std::int64_t>::max());
  }
}

IndexSpec spec_of(const Quantizer& quantizer, const RowSource& rows,
                  const EncodeIndexOptions& options) {
  const QuantizerOptions& trained = quantizer.options();
  check_usual(trained, quantizer.seed());
  IndexSpec spec{.family = fmt::format("coded,kind={},codebooks={},bits={},iterations={}",
                                       to_string(trained.kind), trained.codebooks, trained.bits,
                                       trained.iterations),
                 .dtype = rows.dtype(),
                 .cols = rows.cols(),
                 .metric = options.metric};
  if (trained.kind == QuantizerKind::rq) spec.family += fmt::format(",beam={}", trained.beam);
  if (trained.kind == QuantizerKind::lsq) spec.family += fmt::format(",rounds={}", trained.rounds);
  if (options.byte_norms) spec.family += ",norms=byte";
  spec.family += fmt::format(",vectors=none,seed={}", quantizer.seed());
  return spec;
}

// Codes, and behind each its norm if there is one.
class CodeRecords {
 public:
  CodeRecords(const Quantizer& quantizer, bool with_norms, const Context& context)
      : quantizer_(quantizer), with_norms_(with_norms), context_(context) {}

  std::int64_t bytes_of_a_row() const {
    return quantizer_.code_bytes() + (with_norms_ ? kNormBytes : 0);
  }

  // With what codes stand for, of which norms are taken.
  std::int64_t bytes_of(std::int64_t rows) const {
    constexpr std::int64_t kOfANorm = sizeof(double) + sizeof(float);
    return rows *
           (bytes_of_a_row() + (with_norms_ ? kNormBytes * quantizer_.cols() + kOfANorm : 0));
  }

  std::span<const std::byte> of(MatrixView codes) {
    const auto code_bytes = static_cast<std::size_t>(quantizer_.code_bytes());
    std::vector<float> norms;
    if (with_norms_) norms = norms_of_codes(quantizer_, codes, without_progress());
    records_.resize(static_cast<std::size_t>(codes.rows() * bytes_of_a_row()));
    std::byte* to = records_.data();
    for (std::int64_t row = 0; row < codes.rows(); ++row) {
      to = std::copy_n(codes.row(row), code_bytes, to);
      if (!with_norms_) continue;
      std::memcpy(to, &norms[static_cast<std::size_t>(row)], sizeof(float));
      to += kNormBytes;
    }
    return records_;
  }

 private:
  Context without_progress() const {
    return {.threads = context_.threads, .deadline = context_.deadline, .cancel = context_.cancel};
  }

  const Quantizer& quantizer_;
  bool with_norms_;
  const Context& context_;
  std::vector<std::byte> records_;
};

// The records of all rows, as tensors of an index.
class RecordsToWrite {
 public:
  RecordsToWrite(const std::string& path, const Quantizer& quantizer,
                 const CodedParameters& parameters, std::int64_t rows, const Monitor& monitor)
      : file_(path),
        quantizer_(quantizer),
        parameters_(parameters),
        rows_(rows),
        monitor_(monitor) {
    if (!with_norms()) return;
    NormSample some(rows_);
    for_each_piece([&](MatrixView, std::span<const float> norms) { some.add(norms); });
    levels_ = some.levels(parameters_.norms, longest_norm(quantizer_));
  }

  // It must outlive them.
  void add_to(std::vector<TensorToWrite>& tensors) const {
    tensors.push_back({coded_format::kCodes,
                       TensorType::u8,
                       {divide_up(rows_, kScanRows), parameters_.columns(), kScanRows},
                       [this](const TakeBytes& take) { give_codes(take); }});
    add_codebook_tensors(quantizer_, tensors);
    if (parameters_.norms == CodedNorms::exact) {
      tensors.push_back(
          {coded_format::kNorms, TensorType::f32, {rows_}, [this](const TakeBytes& take) {
             give_norms(take);
           }});
    }
    if (with_norms()) tensors.push_back(levels_tensor(levels_));
  }

 private:
  bool with_norms() const { return parameters_.norms != CodedNorms::none; }

  template <class Use>
  void for_each_piece(const Use& use) const {
    const std::int64_t code_bytes = quantizer_.code_bytes();
    const std::int64_t record = code_bytes + (with_norms() ? kNormBytes : 0);
    std::vector<std::byte> records;
    std::vector<float> norms;
    for (std::int64_t first = 0; first < rows_; first += kRecordsAtOnce) {
      monitor_.check();
      const std::int64_t count = std::min(kRecordsAtOnce, rows_ - first);
      records.resize(static_cast<std::size_t>(count * record));
      file_.read_at(first * record, records);
      norms.resize(with_norms() ? static_cast<std::size_t>(count) : 0);
      for (std::size_t i = 0; i < norms.size(); ++i) {
        const std::int64_t at = static_cast<std::int64_t>(i) * record + code_bytes;
        std::memcpy(&norms[i], records.data() + at, sizeof(float));
      }
      use(MatrixView(records.data(), DType::u8, count, code_bytes, record), norms);
    }
  }

  void give_codes(const TakeBytes& take) const {
    for_each_piece([&](MatrixView codes, std::span<const float> norms) {
      CodeBlocks blocks(parameters_, codes.rows());
      blocks.put(codes, norms, levels_, 0);
      take({reinterpret_cast<const std::byte*>(blocks.blocks()),
            static_cast<std::size_t>(blocks.block_bytes())});
    });
  }

  void give_norms(const TakeBytes& take) const {
    for_each_piece([&](MatrixView, std::span<const float> norms) { take(std::as_bytes(norms)); });
  }

  InputFile file_;
  const Quantizer& quantizer_;
  CodedParameters parameters_;
  std::int64_t rows_;
  const Monitor& monitor_;
  std::vector<float> levels_;
};

// Those that are not have no codes: encoding refused them.
void add_all_finite(std::int64_t rows, std::vector<TensorToWrite>& tensors) {
  const std::int64_t words = divide_up(rows, 64);
  tensors.push_back(
      {index_format::kNotFinite, TensorType::u64, {words}, [=](const TakeBytes& take) {
         const std::vector<std::uint64_t> none(1 << 12);
         for (std::int64_t done = 0; done < words; done += std::ssize(none)) {
           const auto some = std::min(words - done, std::ssize(none));
           take(std::as_bytes(std::span(none).first(static_cast<std::size_t>(some))));
         }
       }});
}

// The file, and a piece of records as they are read and as blocks, and what levels of norms are
// made of: whatever the number of rows.
void check_room_to_write(const CodedParameters& parameters, std::int64_t bytes_of_a_record,
                         std::int64_t rows, const Context& context) {
  const std::int64_t needed = kBytesOfAFile + kRecordsAtOnce * (bytes_of_a_record + kNormBytes) +
                              CodeBlocks::bytes_for(parameters, kRecordsAtOnce) +
                              (parameters.norms != CodedNorms::none ? NormSample::kMostBytes : 0);
  if (context.memory_limit && needed > *context.memory_limit) {
    fail(ErrorCode::memory_limit,
         "writing an index of {} codes takes {} bytes but the memory limit is {}: raise it", rows,
         needed, *context.memory_limit);
  }
}

void write_records(const std::string& records, const std::string& path, const IndexSpec& spec,
                   const Quantizer& quantizer, std::int64_t rows, const Context& context) {
  const Monitor preparing(context, 1);
  const RecordsToWrite codes(records, quantizer, parse_coded(spec), rows, preparing);
  std::vector<TensorToWrite> tensors;
  if (has_not_finite(spec.dtype)) add_all_finite(rows, tensors);
  codes.add_to(tensors);
  OutputFile out(path, context.cancel);
  Monitor monitor(context, bytes_of_all(tensors));
  write_tensors(out, std::move(tensors), numbered_metadata({.spec = spec, .next_id = rows}, rows),
                monitor);
  out.commit();
  monitor.finish();
}

}  // namespace

std::int64_t encode_index(const Quantizer& quantizer, const RowSource& rows,
                          const std::string& path, const EncodeIndexOptions& options,
                          const Context& context) {
  check_encoding(quantizer, rows, context);
  if (rows.rows() > kMostPartRows) {
    fail(ErrorCode::unsupported, "{}: an index file holds at most {} vectors, and these are {}",
         path, kMostPartRows, rows.rows());
  }
  const IndexSpec spec = spec_of(quantizer, rows, options);
  const CodedParameters parameters = parse_coded(spec);
  CodeRecords records(quantizer, parameters.norms != CodedNorms::none, context);
  const std::int64_t bytes = records.bytes_of_a_row();
  check_room_to_write(parameters, bytes, rows.rows(), context);
  GrowingFile file(path, "", kBlockOfRows * bytes, encoding_identity(quantizer, rows, 0, bytes));
  const std::int64_t resumed = encode_blocks(
      quantizer, rows, file, [&](MatrixView codes) { return records.of(codes); },
      records.bytes_of(std::min(kBlockOfRows, rows.rows())), context);
  const std::string what =
      fmt::format("the pieces in which {} codes are written: free some", rows.rows());
  with_memory_errors(
      what, [&] { write_records(file.partial(), path, spec, quantizer, rows.rows(), context); });
  file.remove();
  return resumed;
}

}  // namespace nearfield
