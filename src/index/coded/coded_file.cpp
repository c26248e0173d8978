#include "index/coded/coded_file.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include <fmt/ranges.h>

#include "code/quantizer_state.hpp"
#include "core/checked.hpp"
#include "core/fail.hpp"

namespace nearfield {
namespace {

constexpr const char* kCodes = "coded.codes";  // [block][column][row of 64]
constexpr const char* kBooks = "coded.codebooks";
constexpr const char* kTurned = "coded.rotation";     // of opq
constexpr const char* kNorms = "coded.norms";         // of norms=exact
constexpr const char* kLevels = "coded.norm_levels";  // of norms

// A codeword may be ten times as large as what is coded; a rotation has no value above 1.
constexpr float kMostOfACodeword = 10 * kMostOfAValue;
constexpr float kMostOfARotation = 1.001F;

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
    state->coding.values =
        floats(kBooks, {options.codebooks, parameters_.codewords(), cols_}, kMostOfACodeword);
    if (options.kind == QuantizerKind::opq) {
      state->rotation = floats(kTurned, {cols_, cols_}, kMostOfARotation);
    }
    return make_quantizer(std::move(state));
  }

  std::vector<float> levels() const {
    if (parameters_.norms == CodedNorms::none) return {};
    std::vector<float> levels = floats(kLevels, {kByteEntries}, std::numeric_limits<float>::max());
    if (!std::ranges::is_sorted(levels)) {
      fail(ErrorCode::corrupt_file, "{}: tensor '{}' does not rise", file_.path(), kLevels);
    }
    return levels;
  }

  std::vector<float> floats(const char* name, const std::vector<std::int64_t>& shape,
                            float most) const {
    const auto bytes = tensor(name, TensorType::f32, shape);
    std::vector<float> values(bytes.size() / sizeof(float));
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    const auto usual = [&](float value) { return std::abs(value) <= most; };
    if (!std::ranges::all_of(values, usual)) {
      fail(ErrorCode::corrupt_file, "{}: tensor '{}' has a value that is not finite, or beyond {}",
           file_.path(), name, most);
    }
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
               const CodedParameters& parameters, int threads, const Monitor& monitor)
      : trained_(std::move(trained)),
        parameters_(parameters),
        rows_(live_rows(parts)),
        blocks_(parameters, rows_),
        levels_(trained_->norm_levels) {
    std::int64_t at = 0;
    for_each_run(parts, [&](const PartView& view, std::int64_t begin, std::int64_t end) {
      take(view, begin, end, at, threads, monitor);
      at += end - begin;
    });
    if (parameters.norms == CodedNorms::exact) {
      levels_.front() = std::min(levels_.front(), blocks_.least_norm());
    }
  }

  void add_to(std::vector<TensorToWrite>& tensors) const override {
    const Quantizer::State& state = trained_->quantizer.state();
    const Codebooks& books = state.coding;
    const auto add = [&](const char* name, std::vector<std::int64_t> shape,
                         std::span<const float> values) {
      tensors.push_back(
          tensor_in_memory(name, TensorType::f32, std::move(shape), std::as_bytes(values)));
    };
    tensors.push_back(tensor_in_memory(
        kCodes, TensorType::u8, {divide_up(rows_, kScanRows), parameters_.columns(), kScanRows},
        {reinterpret_cast<const std::byte*>(blocks_.blocks()),
         static_cast<std::size_t>(blocks_.block_bytes())}));
    add(kBooks, {books.count, books.codewords, books.cols}, books.values);
    if (!state.rotation.empty()) add(kTurned, {books.cols, books.cols}, state.rotation);
    if (parameters_.norms == CodedNorms::exact) {
      add(kNorms, {rows_}, {blocks_.norms(), static_cast<std::size_t>(rows_)});
    }
    if (!levels_.empty()) add(kLevels, {kByteEntries}, levels_);
  }

 private:
  void take(const PartView& view, std::int64_t begin, std::int64_t end, std::int64_t at,
            int threads, const Monitor& monitor) {
    const auto* const codes = static_cast<const CodedRows*>(view.family.get());
    const std::int64_t coded = codes != nullptr ? std::clamp(codes->rows(), begin, end) : begin;
    if (codes != nullptr) {
      codes->for_each_chunk(begin, coded,
                            [&](const CodedRows::Chunk& chunk, std::int64_t first, Range range) {
                              blocks_.copy(chunk.blocks, chunk.norms, range.begin, range.size(),
                                           at + first + range.begin - begin);
                            });
    }
    for (std::int64_t row = coded; row < end; row += CodedRows::kChunkRows) {
      const std::int64_t count = std::min(CodedRows::kChunkRows, end - row);
      monitor.check();
      blocks_.encode(view.rows().slice(row, count), at + row - begin, *trained_,
                     {.threads = threads});
    }
  }

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
                  const Monitor& monitor) {
  const CodedParameters& parameters = codes.parameters();
  const auto differ = [&](std::int64_t first) {
    fail(ErrorCode::corrupt_file,
         "{}: of the {} rows from row {} on, codes or norms are not what the codebooks make of "
         "them: build it again",
         path, CodedRows::kChunkRows, first);
  };
  for (std::int64_t first = 0; first < rows.rows(); first += CodedRows::kChunkRows) {
    monitor.check();
    const std::int64_t count = std::min(CodedRows::kChunkRows, rows.rows() - first);
    CodeBlocks made(parameters, count);
    made.encode(rows.slice(first, count), 0, codes.trained(), {});
    codes.for_each_chunk(
        first, first + count, [&](const CodedRows::Chunk& chunk, std::int64_t, Range range) {
          const std::uint8_t* const blocks = chunk.blocks + range.begin * parameters.columns();
          if (std::memcmp(blocks, made.blocks(), static_cast<std::size_t>(made.block_bytes())) !=
              0) {
            differ(first);
          }
          if (parameters.norms != CodedNorms::exact) return;
          if (std::memcmp(chunk.norms + range.begin, made.norms(),
                          static_cast<std::size_t>(count) * sizeof(float)) != 0) {
            differ(first);
          }
        });
  }
}

std::unique_ptr<FamilyTensors> coded_tensors(std::span<const PartView> parts,
                                             const SharedCodedTrained& trained,
                                             const CodedParameters& parameters, int threads,
                                             const Monitor& monitor) {
  return std::make_unique<CodedToWrite>(parts, trained, parameters, threads, monitor);
}

}  // namespace nearfield
