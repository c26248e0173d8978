#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <numeric>
#include <span>
#include <system_error>

#include "code/product_codes.hpp"
#include "code/quantizer_state.hpp"
#include "core/fail.hpp"
#include "core/random.hpp"
#include "io/tensor_file.hpp"

namespace nearfield {
namespace {

// What comes back differs by float32's rounding of each number, 1e-4 for 65,536 columns.
constexpr double kMostOffARotation = 1e-2;

constexpr const char* kQuantizerFormat = "nearfield-quantizer";
constexpr const char* kCheckpointFormat = "nearfield-training";
constexpr int kQuantizerVersion = 1;
constexpr const char* kCodebooksTensor = "codebooks";
constexpr const char* kRotationTensor = "rotation";
constexpr const char* kErrorsTensor = "errors";
constexpr const char* kCodesTensor = "codes";

std::map<std::string, std::string> metadata_of(const char* format, const QuantizerOptions& options,
                                               std::uint64_t seed) {
  const auto text = [](auto value) { return fmt::format("{}", value); };
  return {{"format", format},
          {"format_version", text(kQuantizerVersion)},
          {"kind", std::string(to_string(options.kind))},
          {"codebooks", text(options.codebooks)},
          {"bits", text(options.bits)},
          {"iterations", text(options.iterations)},
          {"beam", text(options.beam)},
          {"rounds", text(options.rounds)},
          {"train_rounds", text(options.train_rounds)},
          {"perturbed", text(options.perturbed)},
          {"sweeps", text(options.sweeps)},
          {"random_order", text(options.random_order ? 1 : 0)},
          {"relaxation", std::string(to_string(options.relaxation))},
          {"seed", text(seed)}};
}

TensorToWrite codebooks_tensor(const Codebooks& books) {
  return tensor_in_memory(kCodebooksTensor, TensorType::f32,
                          {books.count, books.codewords, books.cols},
                          std::as_bytes(std::span(books.values)));
}

TensorToWrite errors_tensor(const std::vector<double>& errors) {
  return tensor_in_memory(kErrorsTensor, TensorType::f64, {std::ssize(errors)},
                          std::as_bytes(std::span(errors)));
}

void write_whole(const std::string& path, std::vector<TensorToWrite> tensors,
                 std::map<std::string, std::string> metadata, const CancelToken& cancel) {
  OutputFile out(path, cancel);
  Context context;
  context.cancel = cancel;
  Monitor monitor(context, 1);
  write_tensors(out, std::move(tensors), std::move(metadata), monitor);
  out.commit();
}

// A file whose every number is looked at before it is used.
class QuantizerFile {
 public:
  QuantizerFile(const std::string& path, const char* format) : file_(path) {
    const auto& metadata = file_.header().metadata;
    const auto found = metadata.find("format");
    if (found == metadata.end() || found->second != format) {
      reject("its metadata does not say 'format: {}'", format);
    }
    if (const auto version = number<int>("format_version"); version != kQuantizerVersion) {
      fail(ErrorCode::unsupported,
           "{}: is of format version {}, and this is read up to {}: open it with a newer Nearfield",
           file_.path(), version, kQuantizerVersion);
    }
  }

  // Last: what the numbers say is refused in their words, not as a wrong sum.
  void check_sums(const Context& context = {}) const {
    Monitor monitor(context, file_.size());
    file_.verify(monitor);
    monitor.finish();
  }

  std::int64_t size() const { return file_.size(); }

  template <class Number>
  Number number(const char* name) const {
    const std::string& text = file_.metadata(name);
    Number value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end) {
      reject("'{}' in its metadata is '{}', not a number", name, text);
    }
    return value;
  }

  QuantizerOptions options() const {
    QuantizerOptions options;
    try {
      options.kind = parse_quantizer_kind(file_.metadata("kind"));
      options.relaxation = parse_relaxation(file_.metadata("relaxation"));
      options.codebooks = number<int>("codebooks");
      options.bits = number<int>("bits");
      options.iterations = number<int>("iterations");
      options.beam = number<int>("beam");
      options.rounds = number<int>("rounds");
      options.train_rounds = number<int>("train_rounds");
      options.perturbed = number<int>("perturbed");
      options.sweeps = number<int>("sweeps");
      options.random_order = number<int>("random_order") != 0;
      check_options(options, cols());
    } catch (const Error& error) {
      if (error.code() == ErrorCode::corrupt_file) throw;
      reject("{}", error.what());
    }
    return options;
  }

  std::int64_t cols() const {
    const auto& shape = file_.tensor(kCodebooksTensor).shape;
    return shape.size() == 3 ? shape[2] : 0;
  }

  Codebooks codebooks(const QuantizerOptions& options) const {
    const int words = 1 << options.bits;
    Codebooks books;
    books.count = options.codebooks;
    books.codewords = words;
    books.cols = cols();
    books.values =
        values<float>(kCodebooksTensor, TensorType::f32, {options.codebooks, words, books.cols});
    check_read_codebooks(books, options.kind, file_.path(), kCodebooksTensor);
    return books;
  }

  std::vector<float> rotation(std::int64_t cols) const {
    auto rotation = values<float>(kRotationTensor, TensorType::f32, {cols, cols});
    check_read_rotation(rotation, cols, file_.path(), kRotationTensor);
    return rotation;
  }

  std::vector<double> errors() const {
    const auto& shape = file_.tensor(kErrorsTensor).shape;
    return values<double>(kErrorsTensor, TensorType::f64, {shape.empty() ? 0 : shape[0]});
  }

  template <class T>
  std::vector<T> values(const char* name, TensorType type,
                        const std::vector<std::int64_t>& shape) const {
    const TensorEntry& tensor = file_.tensor(name);
    if (tensor.type != type || tensor.shape != shape) {
      reject("tensor '{}' is {} of shape ({}), not {} of ({})", name, to_string(tensor.type),
             fmt::join(tensor.shape, ", "), to_string(type), fmt::join(shape, ", "));
    }
    const auto bytes = file_.bytes(tensor);
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

  template <class... Args>
  [[noreturn]] void reject(fmt::format_string<Args...> what, Args&&... args) const {
    fail(ErrorCode::corrupt_file, "{}: {}", file_.path(),
         fmt::format(what, std::forward<Args>(args)...));
  }

 private:
  TensorFile file_;
};

bool is_zero(std::span<const float> values) {
  return std::ranges::all_of(values, [](float value) { return value == 0; });
}

}  // namespace

bool is_quantizer_file(const std::string& path) {
  const TensorFile file(path);
  const auto& metadata = file.header().metadata;
  const auto found = metadata.find("format");
  return found != metadata.end() && found->second == kQuantizerFormat;
}

void check_read_values(std::span<const float> values, float most, const std::string& path,
                       std::string_view tensor) {
  const auto usual = [&](float value) { return std::abs(value) <= most; };
  if (!std::ranges::all_of(values, usual)) {
    fail(ErrorCode::corrupt_file, "{}: tensor '{}' has a value that is not finite, or beyond {}",
         path, tensor, most);
  }
}

void check_read_codebooks(const Codebooks& codebooks, QuantizerKind kind, const std::string& path,
                          std::string_view tensor) {
  check_read_values(codebooks.values, kMostOfACodeword, path, tensor);
  if (kind != QuantizerKind::pq && kind != QuantizerKind::opq) return;
  for (int k = 0; k < codebooks.count; ++k) {
    const std::int64_t begin = first_column(k, codebooks.count, codebooks.cols);
    const std::int64_t end = first_column(k + 1, codebooks.count, codebooks.cols);
    for (int b = 0; b < codebooks.codewords; ++b) {
      const std::span word(codebooks.word(k, b), static_cast<std::size_t>(codebooks.cols));
      const auto before = word.first(static_cast<std::size_t>(begin));
      const auto after = word.subspan(static_cast<std::size_t>(end));
      if (is_zero(before) && is_zero(after)) continue;
      fail(ErrorCode::corrupt_file,
           "{}: tensor '{}': codeword {} of codebook {} is not 0 outside its columns {} to {}, as "
           "those of {} are",
           path, tensor, b, k, begin, end - 1, to_string(kind));
    }
  }
}

void check_read_rotation(std::span<const float> rotation, std::int64_t cols,
                         const std::string& path, std::string_view tensor) {
  check_read_values(rotation, kMostOfARotation, path, tensor);
  Random random(0);
  std::vector<double> signs(static_cast<std::size_t>(cols));
  for (double& sign : signs) sign = random.below(2) == 0 ? -1 : 1;
  std::vector<double> turned(signs.size());
  const auto row = [&](std::size_t i) { return rotation.data() + i * signs.size(); };
  for (std::size_t i = 0; i < signs.size(); ++i) {
    for (std::size_t j = 0; j < signs.size(); ++j) turned[j] += signs[i] * row(i)[j];
  }
  for (std::size_t i = 0; i < signs.size(); ++i) {
    const double back = std::inner_product(turned.begin(), turned.end(), row(i), 0.0);
    if (std::abs(back - signs[i]) <= kMostOffARotation) continue;
    fail(ErrorCode::corrupt_file,
         "{}: tensor '{}' is no rotation: turned there and back, value {} is {:g} and was {:g}",
         path, tensor, i, back, signs[i]);
  }
}

void write_quantizer(const std::string& path, const Quantizer::State& state,
                     const CancelToken& cancel) {
  std::vector<TensorToWrite> tensors{codebooks_tensor(state.coding), errors_tensor(state.errors)};
  if (!state.rotation.empty()) {
    tensors.push_back(tensor_in_memory(kRotationTensor, TensorType::f32,
                                       {state.coding.cols, state.coding.cols},
                                       std::as_bytes(std::span(state.rotation))));
  }
  write_whole(path, std::move(tensors), metadata_of(kQuantizerFormat, state.options, state.seed),
              cancel);
}

std::shared_ptr<Quantizer::State> read_quantizer(const std::string& path, const Context& context) {
  const QuantizerFile file(path, kQuantizerFormat);
  if (context.memory_limit && file.size() > *context.memory_limit) {
    fail(ErrorCode::memory_limit,
         "{}: has {} bytes, which reading holds, but the memory limit is {}: raise it", path,
         file.size(), *context.memory_limit);
  }
  auto state = std::make_shared<Quantizer::State>();
  state->options = file.options();
  state->seed = file.number<std::uint64_t>("seed");
  state->coding = file.codebooks(state->options);
  state->errors = file.errors();
  if (state->options.kind == QuantizerKind::opq) {
    state->rotation = file.rotation(state->coding.cols);
  }
  file.check_sums(context);
  return state;
}

void write_checkpoint(const std::string& path, const LsqCheckpoint& checkpoint,
                      const CancelToken& cancel) {
  auto metadata = metadata_of(kCheckpointFormat, checkpoint.options, checkpoint.seed);
  metadata["fingerprint"] = fmt::format("{}", checkpoint.fingerprint);
  const LsqState& state = checkpoint.state;
  const int m = checkpoint.options.codebooks;
  write_whole(path,
              {codebooks_tensor(state.codebooks), errors_tensor(state.errors),
               tensor_in_memory(kCodesTensor, TensorType::u8, {std::ssize(state.codes) / m, m},
                                std::as_bytes(std::span(state.codes)))},
              std::move(metadata), cancel);
}

std::optional<LsqState> read_checkpoint(const std::string& path, const LsqCheckpoint& expected,
                                        std::int64_t rows, std::int64_t cols) {
  std::error_code error;
  const bool there = std::filesystem::exists(path, error);
  if (error) fail(ErrorCode::io, "{}: cannot be looked for: {}", path, error.message());
  if (!there) return std::nullopt;
  const QuantizerFile file(path, kCheckpointFormat);
  const QuantizerOptions& options = expected.options;
  if (file.options() != options || file.number<std::uint64_t>("seed") != expected.seed ||
      file.number<std::uint64_t>("fingerprint") != expected.fingerprint || file.cols() != cols) {
    fail(ErrorCode::invalid_argument,
         "{}: is of a training on other rows, or with other options or another seed: remove it, or "
         "name another checkpoint",
         path);
  }
  LsqState state{file.codebooks(options),
                 file.values<std::uint8_t>(kCodesTensor, TensorType::u8, {rows, options.codebooks}),
                 file.errors()};
  const auto is_code = [&](std::uint8_t code) { return code < 1 << options.bits; };
  if (!std::ranges::all_of(state.codes, is_code)) {
    file.reject("tensor '{}' has a code that no codebook has", kCodesTensor);
  }
  if (std::ssize(state.errors) > options.iterations) {
    file.reject("says that {} of {} iterations are done", state.errors.size(), options.iterations);
  }
  file.check_sums();
  return state;
}

}  // namespace nearfield
