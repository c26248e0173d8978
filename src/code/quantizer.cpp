#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "code/gpu/lsq_device.hpp"
#include "code/procrustes.hpp"
#include "code/product_codes.hpp"
#include "code/quantizer_memory.hpp"
#include "code/quantizer_state.hpp"
#include "code/residual_codes.hpp"
#include "code/train_lsq.hpp"
#include "core/checked.hpp"
#include "core/decode.hpp"
#include "core/fail.hpp"
#include "core/float_environment.hpp"
#include "core/memory_errors.hpp"
#include "core/tasks.hpp"
#include "device/device_name.hpp"
#include "distance/kernels.hpp"

namespace nearfield {
namespace {

constexpr std::array<std::string_view, kQuantizerKindCount> kKindNames = {"pq", "opq", "rq", "lsq"};
constexpr std::array<std::string_view, 3> kRelaxationNames = {"none", "codebooks", "rows"};

// Of a task.
constexpr std::int64_t kDecodedRows = 1 << 10;

template <class Names>
std::size_t index_of(const Names& names, std::string_view name, std::string_view what) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    fail(ErrorCode::invalid_argument, "no {} is called '{}': there are {}", what, name,
         fmt::join(names, ", "));
  }
  return static_cast<std::size_t>(found - names.begin());
}

void check_range(std::string_view name, int value, int least, int most) {
  if (value < least || value > most) {
    fail(ErrorCode::invalid_argument, "{} is {}, and must be {} to {}", name, value, least, most);
  }
}

const CodeKernels& kernels_of(const Context& context, int codewords) {
  return code_kernels(isa_of(context), codewords);
}

// Rows as floats. Throws where a value is none, or too large.
void read_floats(MatrixView rows, std::int64_t first, std::int64_t count, float* out,
                 const Monitor& monitor) {
  std::vector<double> decoded(static_cast<std::size_t>(rows.cols()));
  for (std::int64_t row = first; row < first + count; ++row, out += rows.cols()) {
    if ((row - first) % kRowsPerCheck == 0) monitor.check();
    if (rows.dtype() == DType::f32) {
      std::memcpy(out, rows.row(row), static_cast<std::size_t>(rows.cols()) * sizeof(float));
    } else {
      decode_row(rows.dtype(), rows.row(row), rows.cols(), decoded.data());
      std::copy(decoded.begin(), decoded.end(), out);
    }
    const auto usual = [](float value) { return std::abs(value) <= kMostOfAValue; };
    if (!std::all_of(out, out + rows.cols(), usual)) {
      fail(ErrorCode::not_finite,
           "row {} has a value that is not finite, or beyond {}: leave it out", row, kMostOfAValue);
    }
  }
}

// Small values beside usual ones are as good as 0, and may be.
void check_squares(const FloatRows& rows, QuantizerKind kind, const Monitor& monitor) {
  if (kind != QuantizerKind::rq && kind != QuantizerKind::lsq) return;
  float largest = 0;
  for (std::int64_t row = 0; row < rows.count; ++row) {
    if (row % kRowsPerCheck == 0) monitor.check();
    for (std::int64_t i = 0; i < rows.cols; ++i) {
      largest = std::max(largest, std::abs(rows.row(row)[i]));
    }
  }
  if (largest > 0 && largest < kLeastOfTheLargest) {
    fail(ErrorCode::invalid_argument,
         "the largest value of {} rows is {:g}, and {} takes {:g} or more, since it adds squares "
         "up in float32: scale the rows, or take pq or opq",
         rows.count, largest, to_string(kind), kLeastOfTheLargest);
  }
}

void check_numbers(MatrixView rows, std::int64_t cols) {
  if (rows.dtype() == DType::bits) {
    fail(ErrorCode::unsupported, "rows of bits cannot be quantized: they are codes already");
  }
  if (rows.cols() != cols) {
    fail(ErrorCode::invalid_argument, "expected {} columns, got {}", cols, rows.cols());
  }
}

void check_codes(MatrixView codes, std::int64_t bytes) {
  if (codes.dtype() != DType::u8 || codes.cols() != bytes) {
    fail(ErrorCode::invalid_argument, "expected codes as {} columns of u8, got {} of {}", bytes,
         codes.cols(), to_string(codes.dtype()));
  }
}

void check_memory(const Context& context, std::int64_t needed, std::string_view what) {
  if (context.memory_limit && needed > *context.memory_limit) {
    fail(ErrorCode::memory_limit, "{} takes {} bytes but the memory limit is {}: raise it", what,
         needed, *context.memory_limit);
  }
}

void pack_codes(const std::uint8_t* codes, const QuantizerOptions& options, std::byte* out) {
  if (options.bits == 8) {
    std::memcpy(out, codes, static_cast<std::size_t>(options.codebooks));
    return;
  }
  for (int k = 0; k < options.codebooks; k += 2) {
    const int upper = k + 1 < options.codebooks ? codes[k + 1] : 0;
    out[k / 2] = static_cast<std::byte>(codes[k] | upper << 4);
  }
}

void unpack_codes(const std::byte* packed, const QuantizerOptions& options, std::uint8_t* out) {
  for (int k = 0; k < options.codebooks; ++k) {
    const int byte = std::to_integer<int>(packed[options.bits == 8 ? k : k / 2]);
    out[k] = static_cast<std::uint8_t>(options.bits == 8 ? byte : byte >> (k % 2 * 4) & 15);
  }
}

void sum_codewords(const Codebooks& books, const std::uint8_t* codes, float* out) {
  std::copy_n(books.word(0, codes[0]), books.cols, out);
  for (int k = 1; k < books.count; ++k) {
    const float* const word = books.word(k, codes[k]);
    for (std::int64_t i = 0; i < books.cols; ++i) out[i] += word[i];
  }
}

// What one kind alone reads would be ignored by the others. Not of files: those of earlier versions
// may hold it.
void refuse_options_of_others(const QuantizerOptions& options) {
  const QuantizerOptions usual;
  const auto refuse_unless = [&](QuantizerKind owner, std::string_view name, auto option) {
    if (options.kind == owner || options.*option == usual.*option) return;
    fail(ErrorCode::invalid_argument, "{} belongs to {}, and these are options of {}: leave it out",
         name, to_string(owner), to_string(options.kind));
  };
  refuse_unless(QuantizerKind::rq, "beam", &QuantizerOptions::beam);
  refuse_unless(QuantizerKind::lsq, "rounds", &QuantizerOptions::rounds);
  refuse_unless(QuantizerKind::lsq, "train_rounds", &QuantizerOptions::train_rounds);
  refuse_unless(QuantizerKind::lsq, "perturbed", &QuantizerOptions::perturbed);
  refuse_unless(QuantizerKind::lsq, "sweeps", &QuantizerOptions::sweeps);
  refuse_unless(QuantizerKind::lsq, "random_order", &QuantizerOptions::random_order);
  refuse_unless(QuantizerKind::lsq, "relaxation", &QuantizerOptions::relaxation);
}

void check_training(const TrainOptions& training, QuantizerKind kind) {
  if (!training.checkpoint.empty() && kind != QuantizerKind::lsq) {
    fail(ErrorCode::unsupported, "training of {} keeps no checkpoint: leave it out",
         to_string(kind));
  }
  if (training.iteration && (kind == QuantizerKind::pq || kind == QuantizerKind::rq)) {
    fail(ErrorCode::unsupported,
         "training of {} makes one codebook after the other, and has no error of all of them until "
         "the end: leave 'iteration' out",
         to_string(kind));
  }
}

std::uint64_t fingerprint_of(const FloatRows& rows, const Monitor& monitor) {
  std::uint64_t sum = static_cast<std::uint64_t>(rows.count);
  for (std::int64_t row = 0; row < rows.count; ++row) {
    if (row % kRowsPerCheck == 0) monitor.check();
    for (std::int64_t i = 0; i < rows.cols; ++i) {
      std::uint32_t bits;
      std::memcpy(&bits, rows.row(row) + i, sizeof(bits));
      sum = (sum ^ bits) * 0x9E3779B97F4A7C15;
      sum ^= sum >> 32;
    }
  }
  return sum;
}

LsqState train_lsq(const FloatRows& rows, const QuantizerOptions& options,
                   const TrainOptions& training, const CodeWork& work) {
  const std::uint64_t seed = work.context.seed;
  const bool kept = !training.checkpoint.empty();
  LsqCheckpoint now{options, seed, kept ? fingerprint_of(rows, work.monitor) : 0, {}};
  std::optional<LsqState> before;
  if (kept) before = read_checkpoint(training.checkpoint, now, rows.count, rows.cols);
  if (before) {
    now.state = *std::move(before);
    work.monitor.advance(rows.count * std::ssize(now.state.errors));
  } else {
    now.state = begin_lsq(rows, options, seed, work);
  }
  const std::vector<double>& errors = now.state.errors;
  while (std::ssize(errors) < options.iterations) {
    step_lsq(now.state, rows, options, seed, work);
    if (kept) write_checkpoint(training.checkpoint, now, work.context.cancel);
    if (training.iteration) training.iteration(static_cast<int>(errors.size()), errors.back());
  }
  return std::move(now.state);
}

// Rows that training goes through, for its progress.
std::int64_t training_rows(const QuantizerOptions& options, std::int64_t rows) {
  const bool all_codebooks = options.kind != QuantizerKind::lsq;
  return rows * options.iterations * (all_codebooks ? options.codebooks : 1);
}

std::shared_ptr<const IcmTables> tables_of(const Quantizer::State& state, const CodeWork& work) {
  Quantizer::State::KeptTables& kept = *state.kept;
  const std::lock_guard one(kept.making);
  if (kept.kernels != &work.kernels) {
    auto tables =
        std::make_shared<const IcmTables>(state.coding, work.kernels, work.threads, work.monitor);
    const std::lock_guard lock(kept.mutex);
    kept.tables = std::move(tables);
    kept.kernels = &work.kernels;
  }
  return kept.tables;
}

void find_codes(const Quantizer::State& state, const FloatRows& rows, std::uint8_t* codes,
                const CodeWork& work) {
  const QuantizerOptions& options = state.options;
  switch (options.kind) {
    case QuantizerKind::pq:
      find_product_codes(rows, state.coding, codes, work);
      return work.monitor.advance(rows.count);
    case QuantizerKind::opq: {
      std::vector<float> rotated(static_cast<std::size_t>(rows.count * rows.cols));
      rotate(rows, state.rotation, Turn::there, rotated.data(), work);
      find_product_codes({rotated.data(), rows.count, rows.cols, rows.cols}, state.coding, codes,
                         work);
      return work.monitor.advance(rows.count);
    }
    case QuantizerKind::rq:
      return find_residual_codes(rows, state.coding, options.beam, codes, work);
    case QuantizerKind::lsq:
      break;
  }
  const LocalSearch search{.rounds = options.rounds,
                           .sweeps = options.sweeps,
                           .perturbed = options.perturbed,
                           .random_order = options.random_order,
                           .seed = state.seed,
                           .batch = batch_within(work.spare_bytes, options.codebooks,
                                                 state.coding.codewords, rows.cols, work.threads)};
  if (options.codebooks == 1) {
    return find_lsq_codes(rows, state.coding, search, StartCodes::random, codes, nullptr, work);
  }
  if (work.device != nullptr) {
    return work.device->search(search, rows.values, rows.count, StartCodes::random, codes, nullptr,
                               work.monitor);
  }
  search_codes(*tables_of(state, work), work.kernels, search, rows.values, rows.count,
               StartCodes::random, codes, nullptr, work.threads, work.monitor);
}

// More rows at a time than were counted. Of local search each thread has the batch that is fastest,
// where memory is left; of that half at most, since batches take the other.
std::int64_t take_piece(const QuantizerOptions& options, std::int64_t rows, std::int64_t cols,
                        std::int64_t counted, CodeWork& work) {
  const bool searches = options.kind == QuantizerKind::lsq && options.codebooks > 1;
  if (!searches || work.device != nullptr) return counted;
  const std::int64_t batch =
      batch_within(work.spare_bytes, options.codebooks, 1 << options.bits, cols, work.threads);
  const std::int64_t of_a_row = encoded_row_bytes(options.codebooks, cols);
  const std::int64_t wanted = std::min(rows, work.threads * batch);
  const std::int64_t more =
      std::clamp<std::int64_t>(wanted - counted, 0, work.spare_bytes / 2 / of_a_row);
  work.spare_bytes -= more * of_a_row;
  return counted + more;
}

void rotate_back(Quantizer::State& state, const Context& context) {
  if (state.rotation.empty()) return;
  Monitor monitor(context, 1);
  const CodeWork work{kernels_of(context, state.coding.codewords), context, 1, monitor};
  state.decoding = rotated_back(state.coding, state.rotation, work);
}

}  // namespace

std::string_view to_string(QuantizerKind kind) {
  return kKindNames[static_cast<std::size_t>(kind)];
}

QuantizerKind parse_quantizer_kind(std::string_view name) {
  return static_cast<QuantizerKind>(index_of(kKindNames, name, "quantizer"));
}

std::string_view to_string(Relaxation relaxation) {
  return kRelaxationNames[static_cast<std::size_t>(relaxation)];
}

Relaxation parse_relaxation(std::string_view name) {
  return static_cast<Relaxation>(index_of(kRelaxationNames, name, "relaxation"));
}

void check_options(const QuantizerOptions& options, std::int64_t cols) {
  check_range("codebooks", options.codebooks, 1, kMostCodebooks);
  if (options.bits != 4 && options.bits != 8) {
    fail(ErrorCode::invalid_argument, "bits is {}, and must be 4 or 8", options.bits);
  }
  check_range("iterations", options.iterations, 1, 10'000);
  check_range("beam", options.beam, 1, 64);
  check_range("rounds", options.rounds, 1, 10'000);
  check_range("train_rounds", options.train_rounds, 1, 10'000);
  check_range("perturbed", options.perturbed, 0, kMostCodebooks);
  check_range("sweeps", options.sweeps, 1, 1'000);
  const bool by_columns = options.kind == QuantizerKind::pq || options.kind == QuantizerKind::opq;
  if (cols < 1 || cols > kMaxCols || (by_columns && cols < options.codebooks)) {
    fail(ErrorCode::invalid_argument, "{} columns cannot be quantized by {} codebooks of {}", cols,
         options.codebooks, to_string(options.kind));
  }
}

bool searches_on_device(const QuantizerOptions& options, const Context& context,
                        std::string_view what) {
  if (!on_device(context)) return false;
  if (options.kind != QuantizerKind::lsq || options.codebooks == 1) {
    fail(ErrorCode::unsupported,
         "{} runs on devices for lsq of 2 codebooks or more, got {} of {} and device '{}': leave "
         "the device out",
         what, to_string(options.kind), options.codebooks, context.device);
  }
  check_one_device(context, what);
  return true;
}

Quantizer Quantizer::train(MatrixView rows, const QuantizerOptions& options, const Context& context,
                           const TrainOptions& training) {
  const bool there = searches_on_device(options, context, "training a quantizer");
  check_numbers(rows, rows.cols());
  check_options(options, rows.cols());
  refuse_options_of_others(options);
  const int words = 1 << options.bits;
  if (rows.rows() < words) {
    fail(ErrorCode::invalid_argument, "training codebooks of {} codewords takes {} rows, got {}",
         words, words, rows.rows());
  }
  check_training(training, options.kind);
  const int threads = resolve_threads(context.threads);
  const std::int64_t needed = training_bytes(options, rows.rows(), rows.cols(), threads, there);
  const std::string what = fmt::format("training {} codebooks on {} rows of {} columns",
                                       options.codebooks, rows.rows(), rows.cols());
  check_memory(context, needed, what);
  return with_memory_errors(fmt::format("the {} bytes of {}", needed, what), [&] {
    const DefaultFloats floats;
    Monitor monitor(context, training_rows(options, rows.rows()));
    CodeWork work{kernels_of(context, words), context, threads, monitor};
    if (context.memory_limit) work.spare_bytes = *context.memory_limit - needed;
    std::optional<LsqDevice> device;
    if (there) work.device = &device.emplace(context);
    std::vector<float> values(static_cast<std::size_t>(rows.rows() * rows.cols()));
    read_floats(rows, 0, rows.rows(), values.data(), monitor);
    const FloatRows read{values.data(), rows.rows(), rows.cols(), rows.cols()};
    check_squares(read, options.kind, monitor);
    auto state = std::make_shared<State>();
    state->options = options;
    state->seed = context.seed;
    switch (options.kind) {
      case QuantizerKind::pq:
      case QuantizerKind::opq: {
        ProductCodes trained =
            options.kind == QuantizerKind::pq
                ? train_product(read, options, context.seed, work)
                : train_rotated_product(read, options, context.seed, training.iteration, work);
        state->coding = std::move(trained.codebooks);
        state->rotation = std::move(trained.rotation);
        state->errors = std::move(trained.errors);
        break;
      }
      case QuantizerKind::rq: {
        ResidualCodes trained = train_residual(read, options, context.seed, work);
        state->coding = std::move(trained.codebooks);
        state->errors = {trained.error};
        break;
      }
      case QuantizerKind::lsq: {
        LsqState trained = train_lsq(read, options, training, work);
        state->coding = std::move(trained.codebooks);
        state->errors = std::move(trained.errors);
        break;
      }
    }
    rotate_back(*state, context);
    monitor.finish();
    return Quantizer(std::move(state));
  });
}

Quantizer make_quantizer(std::shared_ptr<Quantizer::State> state) {
  const DefaultFloats floats;
  rotate_back(*state, {});
  return Quantizer(std::move(state));
}

Quantizer Quantizer::open(const std::string& path) { return make_quantizer(read_quantizer(path)); }

void verify_quantizer(const std::string& path, const Context& context) {
  read_quantizer(path, context);
}

void Quantizer::save(const std::string& path, const CancelToken& cancel) const {
  write_quantizer(path, *state_, cancel);
}

const QuantizerOptions& Quantizer::options() const { return state_->options; }
std::int64_t Quantizer::cols() const { return state_->coding.cols; }
std::uint64_t Quantizer::seed() const { return state_->seed; }
std::span<const double> Quantizer::errors() const { return state_->errors; }

std::int64_t Quantizer::code_bytes() const { return bytes_of_a_code(state_->options); }

MatrixView Quantizer::codebooks() const {
  const Codebooks& books = state_->codebooks();
  return {books.values.data(), std::int64_t{books.count} * books.codewords, books.cols};
}

Matrix Quantizer::encode(MatrixView rows, const Context& context) const {
  const bool there = searches_on_device(state_->options, context, "encoding");
  check_numbers(rows, cols());
  const int threads = resolve_threads(context.threads);
  const std::int64_t counted = rows_at_once(state_->options, rows.rows(), cols(), context, there);
  const std::int64_t needed =
      rows.rows() * code_bytes() + encoding_bytes(state_->options, counted, cols(), threads, there);
  const std::string what = fmt::format("encoding {} rows of {} columns", rows.rows(), cols());
  check_memory(context, needed, what);
  return with_memory_errors(fmt::format("the {} bytes of {}", needed, what), [&] {
    const DefaultFloats floats;
    Monitor monitor(context, rows.rows());
    CodeWork work{kernels_of(context, state_->coding.codewords), context, threads, monitor};
    if (context.memory_limit) work.spare_bytes = *context.memory_limit - needed;
    std::optional<LsqDevice> device;
    if (there) {
      work.device = &device.emplace(context);
      device->load(state_->coding, counted, monitor);
    }
    Matrix packed(DType::u8, rows.rows(), code_bytes());
    const std::int64_t piece = take_piece(state_->options, rows.rows(), cols(), counted, work);
    const int m = state_->options.codebooks;
    std::vector<float> values(static_cast<std::size_t>(piece * cols()));
    std::vector<std::uint8_t> codes(static_cast<std::size_t>(piece * m));
    for (std::int64_t first = 0; first < rows.rows(); first += piece) {
      const std::int64_t count = std::min(piece, rows.rows() - first);
      read_floats(rows, first, count, values.data(), monitor);
      find_codes(*state_, {values.data(), count, cols(), cols()}, codes.data(), work);
      for (std::int64_t row = 0; row < count; ++row) {
        pack_codes(codes.data() + row * m, state_->options, packed.row(first + row));
      }
    }
    monitor.finish();
    return packed;
  });
}

Matrix Quantizer::decode(MatrixView codes, const Context& context) const {
  check_on_cpu(context, "decoding");
  check_codes(codes, code_bytes());
  const std::int64_t needed = checked_mul(codes.rows(), cols() * 4, "bytes of decoded rows");
  const std::string what = fmt::format("decoding {} rows of {} columns", codes.rows(), cols());
  check_memory(context, needed, what);
  return with_memory_errors(fmt::format("the {} bytes of {}", needed, what), [&] {
    const DefaultFloats floats;
    Monitor monitor(context, codes.rows());
    Matrix rows(DType::f32, codes.rows(), cols());
    run_tasks(divide_up(codes.rows(), kDecodedRows), resolve_threads(context.threads),
              [&](std::int64_t task, int) {
                const std::int64_t first = task * kDecodedRows;
                const std::int64_t end = std::min(first + kDecodedRows, codes.rows());
                std::array<std::uint8_t, kMostCodebooks> unpacked;
                for (std::int64_t row = first; row < end; ++row) {
                  unpack_codes(codes.row(row), state_->options, unpacked.data());
                  sum_codewords(state_->codebooks(), unpacked.data(),
                                reinterpret_cast<float*>(rows.row(row)));
                }
                monitor.advance(end - first);
              });
    monitor.finish();
    return rows;
  });
}

std::vector<double> Quantizer::squared_errors(MatrixView rows, MatrixView codes,
                                              const Context& context) const {
  check_on_cpu(context, "comparing rows with their codes");
  check_numbers(rows, cols());
  check_codes(codes, code_bytes());
  if (rows.rows() != codes.rows()) {
    fail(ErrorCode::invalid_argument, "expected a code for each of {} rows, got {}", rows.rows(),
         codes.rows());
  }
  const std::int64_t needed = rows.rows() * 8;
  const std::string what = fmt::format("the errors of {} rows", rows.rows());
  check_memory(context, needed, what);
  return with_memory_errors(fmt::format("the {} bytes of {}", needed, what), [&] {
    const DefaultFloats floats;
    Monitor monitor(context, rows.rows());
    std::vector<double> errors(static_cast<std::size_t>(rows.rows()));
    run_tasks(divide_up(rows.rows(), kDecodedRows), resolve_threads(context.threads),
              [&](std::int64_t task, int) {
                const std::int64_t first = task * kDecodedRows;
                const std::int64_t end = std::min(first + kDecodedRows, rows.rows());
                std::array<std::uint8_t, kMostCodebooks> unpacked;
                std::vector<double> values(static_cast<std::size_t>(cols()));
                std::vector<float> decoded(static_cast<std::size_t>(cols()));
                for (std::int64_t row = first; row < end; ++row) {
                  decode_row(rows.dtype(), rows.row(row), cols(), values.data());
                  unpack_codes(codes.row(row), state_->options, unpacked.data());
                  sum_codewords(state_->codebooks(), unpacked.data(), decoded.data());
                  double sum = 0;
                  for (std::size_t i = 0; i < values.size(); ++i) {
                    const double difference = values[i] - static_cast<double>(decoded[i]);
                    sum += difference * difference;
                  }
                  errors[static_cast<std::size_t>(row)] = sum;
                }
                monitor.advance(end - first);
              });
    monitor.finish();
    return errors;
  });
}

}  // namespace nearfield
