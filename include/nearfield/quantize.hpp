// Codes: a vector in a few bytes. A quantizer has M codebooks; a vector becomes one codeword of
// each, and stands for their sum. docs/codes.md says which kind to take.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nearfield/context.hpp>
#include <nearfield/matrix.hpp>
#include <nearfield/rows.hpp>

namespace nearfield {

enum class QuantizerKind : std::uint8_t {
  pq,   // product quantization: a codebook for each M-th of the columns
  opq,  // the same after a rotation that is learned (non-parametric)
  rq,   // residual quantization: each codebook codes what those before left; beam search
  lsq,  // local search quantization: codes by iterated local search, codebooks by least squares
};
inline constexpr int kQuantizerKindCount = 4;

std::string_view to_string(QuantizerKind kind);
QuantizerKind parse_quantizer_kind(std::string_view name);

// Noise that gets smaller from iteration to iteration and leads training of LSQ out of poor places
// (LSQ++).
enum class Relaxation : std::uint8_t {
  none,
  codebooks,  // SR-D: on the codebooks that rows are coded with
  rows,       // SR-C: on the rows that codebooks are fitted to
};

std::string_view to_string(Relaxation relaxation);
Relaxation parse_relaxation(std::string_view name);

// What belongs to one kind is left as it is by the others: else training refuses it.
struct QuantizerOptions {
  QuantizerKind kind = QuantizerKind::lsq;
  int codebooks = 8;  // M, 1 to 64
  int bits = 8;       // of a code: 4 or 8; a vector takes M * bits / 8 bytes, rounded up

  // Of k-means (pq, rq), of k-means and rotation (opq), of search and least squares (lsq).
  int iterations = 25;

  int beam = 8;  // rq: the best so many sums are kept while codes are found, 1 to 64

  // lsq: rounds of local search for each vector, when encoding and in an iteration of training; in
  // a round so many codes are perturbed, and so many sweeps go over all codebooks.
  int rounds = 16;
  int train_rounds = 8;
  int perturbed = 4;
  int sweeps = 4;
  bool random_order = false;  // of codebooks in a sweep; else from the first to the last
  Relaxation relaxation = Relaxation::codebooks;  // of two codebooks or more

  friend bool operator==(const QuantizerOptions&, const QuantizerOptions&) = default;
};

struct TrainOptions {
  // If not empty: a file that holds what is done after each iteration. If it is there, of the same
  // rows, options and seed, training goes on where it ended, and ends with the same bits. It is
  // left when training is done: remove it then. lsq only.
  std::string checkpoint = {};

  // Called after each iteration with the mean squared error so far. lsq and opq only.
  std::function<void(int iteration, double error)> iteration = {};
};

// Whether the metadata of a safetensors file says that a quantizer was saved there. Throws Error
// where it is no such file.
bool is_quantizer_file(const std::string& path);

// Reads all of it, looks at each number and compares the sums. Throws corrupt_file if something is
// not as it was written.
void verify_quantizer(const std::string& path, const Context& context = {});

// Trained; never changes, and can be copied and used from any thread.
class Quantizer {
 public:
  // Rows of numbers, all finite, at least as many as a codebook has codewords. The same rows,
  // options and context.seed give the same bits on any ISA and any number of threads, and, of lsq
  // with two codebooks or more, on a device.
  static Quantizer train(MatrixView rows, const QuantizerOptions& options = {},
                         const Context& context = {}, const TrainOptions& training = {});

  static Quantizer open(const std::string& path);
  void save(const std::string& path, const CancelToken& cancel = {}) const;

  const QuantizerOptions& options() const;
  std::int64_t cols() const;
  std::int64_t code_bytes() const;
  std::uint64_t seed() const;

  // The mean squared error of the rows trained on, after each iteration; of pq and rq one, at the
  // end.
  std::span<const double> errors() const;

  // M * 2^bits codewords of cols() float32, codebook by codebook: a code stands for the sum of one
  // codeword of each. Those of pq are zero outside their columns; of opq they are rotated back.
  MatrixView codebooks() const;

  // Rows of numbers of cols() columns to rows of code_bytes() u8. Codes of 4 bits are two to a
  // byte, the first in the lower half. What a vector becomes depends on its values alone, rounded
  // to float32, and not on the rows beside it. Runs on a device where training does.
  Matrix encode(MatrixView rows, const Context& context = {}) const;

  // And back, to float32.
  Matrix decode(MatrixView codes, const Context& context = {}) const;

  // Of each row the squared distance from what its code stands for.
  std::vector<double> squared_errors(MatrixView rows, MatrixView codes,
                                     const Context& context = {}) const;

  struct State;
  explicit Quantizer(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  const State& state() const { return *state_; }

 private:
  std::shared_ptr<const State> state_;
};

// Encodes the rows of a source, which may be larger than memory, to a .u8bin file of codes. What is
// done lies beside it in a file of its own, `path` with an ending, until it is complete: the same
// call goes on there, also after `kill -9` or a power cut, and ends with the same bytes. Returns
// how many rows were done before.
std::int64_t encode_file(const Quantizer& quantizer, const RowSource& rows, const std::string& path,
                         const Context& context = {});

}  // namespace nearfield
