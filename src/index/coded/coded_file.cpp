#include "index/coded/coded_file.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/ranges.h>

#include "code/quantizer_state.hpp"
#include "core/checked.hpp"
#include "core/fail.hpp"

namespace nearfield {
namespace {

using namespace coded_format;

// Of a file, which may hold anything.
class CodedOpening {
 public:
  CodedOpening(const TensorFile& file, const IndexSpec& spec, const CodedParameters& parameters,
               std::int64_t rows)
      : file_(file), cols_(spec.cols), parameters_(parameters), rows_(rows) {}

  std::shared_ptr<const CodedRows> open() const {
    const std::int64_t blocks = divide_up(rows_, kScanRows);
    const auto codes = tensor(kCodes, TensorType::u8, {blocks, parameters_.columns(), kScanRows});
    auto trained = std::make_shared<const CodedTrained>(quantizer(), levels());
    CodedRows::Chunk chunk{nullptr, reinterpret_cast<const std::uint8_t*>(codes.data()), nullptr,
                           std::numeric_limits<float>::infinity()};
    if (parameters_.norms == CodedNorms::exact) {
      chunk.norms = reinterpret_cast<const float*>(tensor(kNorms, TensorType::f32, {rows_}).data());
    }
    return std::make_shared<const CodedRows>(std::move(trained), parameters_, rows_,
                                             std::max<std::int64_t>(rows_, 1), std::vector{chunk});
  }

 private:
  Quantizer quantizer() const {
    const QuantizerOptions& options = parameters_.quantizer;
    auto state = std::make_shared<Quantizer::State>();
    state->options = options;
    state->seed = parameters_.seed;
    state->coding = Codebooks();
    state->coding.count = options.codebooks;
    state->coding.codewords = parameters_.codewords();
    state->coding.cols = cols_;
    state->coding.values = floats(kBooks, {options.codebooks, parameters_.codewords(), cols_});
    check_read_codebooks(state->coding, options.kind, file_.path(), kBooks);
    if (options.kind == QuantizerKind::opq) {
      state->rotation = floats(kTurned, {cols_, cols_});
      check_read_rotation(state->rotation, cols_, file_.path(), kTurned);
    }
    return make_quantizer(std::move(state));
  }

  std::vector<float> levels() const {
    if (parameters_.norms == CodedNorms::none) return {};
    std::vector<float> levels = floats(kLevels, {kByteEntries});
    check_read_values(levels, std::numeric_limits<float>::max(), file_.path(), kLevels);
    if (!std::ranges::is_sorted(levels)) {
      fail(ErrorCode::corrupt_file, "{}: tensor '{}' does not rise", file_.path(), kLevels);
    }
    return levels;
  }

  std::vector<float> floats(const char* name, const std::vector<std::int64_t>& shape) const {
    const auto bytes = tensor(name, TensorType::f32, shape);
    std::vector<float> values(bytes.size() / sizeof(float));
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

  std::span<const std::byte> tensor(const char* name, TensorType type,
                                    const std::vector<std::int64_t>& shape) const {
    const TensorEntry& tensor = file_.tensor(name);
    if (tensor.type != type || tensor.shape != shape) {
      fail(ErrorCode::corrupt_file, "{}: tensor '{}' is {} of [{}], not {} of [{}]", file_.path(),
           name, to_string(tensor.type), fmt::join(tensor.shape, ", "), to_string(type),
           fmt::join(shape, ", "));
    }
    const std::span<const std::byte> bytes = file_.bytes(tensor);
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(float) != 0) {
      fail(ErrorCode::corrupt_file, "{}: tensor '{}' does not begin at a multiple of {} bytes",
           file_.path(), name, alignof(float));
    }
    return bytes;
  }

  const TensorFile& file_;
  std::int64_t cols_;
  CodedParameters parameters_;
  std::int64_t rows_;
};

class CodedToWrite final : public FamilyTensors {
 public:
  CodedToWrite(std::span<const PartView> parts, SharedCodedTrained trained,
               const CodedParameters& parameters, const Context& context, const Monitor& monitor)
      : trained_(std::move(trained)),
        parameters_(parameters),
        rows_(live_rows(parts)),
        blocks_(parameters, rows_),
        levels_(trained_->norm_levels) {
    for_each_code(
        parts,
        [&](const CodedRows::Chunk& chunk, Range range, std::int64_t at) {
          monitor.check();
          blocks_.copy(chunk.blocks, chunk.norms, range.begin, range.size(), at);
        },
        [&](MatrixView rows, std::int64_t at) {
          monitor.check();
          blocks_.encode(rows, at, *trained_, context);
        });
    if (parameters.norms == CodedNorms::exact) {
      levels_.front() = std::min(levels_.front(), blocks_.least_norm());
    }
  }

  void add_to(std::vector<TensorToWrite>& tensors) const override {
    tensors.push_back(tensor_in_memory(
        kCodes, TensorType::u8, {divide_up(rows_, kScanRows), parameters_.columns(), kScanRows},
        {reinterpret_cast<const std::byte*>(blocks_.blocks()),
         static_cast<std::size_t>(blocks_.block_bytes())}));
    add_codebook_tensors(trained_->quantizer, tensors);
    if (parameters_.norms == CodedNorms::exact) {
      const std::span norms(blocks_.norms(), static_cast<std::size_t>(rows_));
      tensors.push_back(tensor_in_memory(kNorms, TensorType::f32, {rows_}, std::as_bytes(norms)));
    }
    if (!levels_.empty()) tensors.push_back(levels_tensor(levels_));
  }

 private:
  SharedCodedTrained trained_;
  CodedParameters parameters_;
  std::int64_t rows_;
  CodeBlocks blocks_;
  std::vector<float> levels_;
};

}  // namespace

std::shared_ptr<const CodedRows> open_coded(const TensorFile& file, const IndexSpec& spec,
                                            const CodedParameters& parameters, std::int64_t rows) {
  if (file.find(kCodes) == nullptr) return nullptr;
  return CodedOpening(file, spec, parameters, rows).open();
}

void verify_coded(const CodedRows& codes, MatrixView rows, const std::string& path,
                  const Context& context) {
  const CodedParameters& parameters = codes.parameters();
  const auto differ = [&](std::int64_t first, std::int64_t count) {
    fail(ErrorCode::corrupt_file,
         "{}: of the {} rows from row {} on, codes or norms are not what the codebooks make of "
         "them: build it again",
         path, count, first);
  };
  Context encoding = context;
  encoding.memory_limit.reset();
  encoding.progress = nullptr;
  for (std::int64_t first = 0; first < rows.rows(); first += CodedRows::kChunkRows) {
    const std::int64_t count = std::min(CodedRows::kChunkRows, rows.rows() - first);
    CodeBlocks made(parameters, count);
    made.encode(rows.slice(first, count), 0, codes.trained(), encoding);
    codes.for_each_chunk(
        first, first + count, [&](const CodedRows::Chunk& chunk, std::int64_t, Range range) {
          const std::uint8_t* const blocks = chunk.blocks + range.begin * parameters.columns();
          if (std::memcmp(blocks, made.blocks(), static_cast<std::size_t>(made.block_bytes())) !=
              0) {
            differ(first, count);
          }
          if (parameters.norms != CodedNorms::exact) return;
          if (std::memcmp(chunk.norms + range.begin, made.norms(),
                          static_cast<std::size_t>(count) * sizeof(float)) != 0) {
            differ(first, count);
          }
        });
  }
}

void add_codebook_tensors(const Quantizer& quantizer, std::vector<TensorToWrite>& tensors) {
  const Quantizer::State& state = quantizer.state();
  const Codebooks& books = state.coding;
  tensors.push_back(tensor_in_memory(kBooks, TensorType::f32,
                                     {books.count, books.codewords, books.cols},
                                     std::as_bytes(std::span(books.values))));
  if (state.rotation.empty()) return;
  tensors.push_back(tensor_in_memory(kTurned, TensorType::f32, {books.cols, books.cols},
                                     std::as_bytes(std::span(state.rotation))));
}

TensorToWrite levels_tensor(std::span<const float> norm_levels) {
  return tensor_in_memory(kLevels, TensorType::f32, {kByteEntries}, std::as_bytes(norm_levels));
}

std::unique_ptr<FamilyTensors> coded_tensors(std::span<const PartView> parts,
                                             const SharedCodedTrained& trained,
                                             const CodedParameters& parameters,
                                             const Context& context, const Monitor& monitor) {
  return std::make_unique<CodedToWrite>(parts, trained, parameters, context, monitor);
}

}  // namespace nearfield
