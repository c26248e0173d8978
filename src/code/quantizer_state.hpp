// What a trained quantizer is, and its file.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nearfield/quantize.hpp>

#include "code/codebooks.hpp"
#include "code/icm_tables.hpp"
#include "code/train_lsq.hpp"

namespace nearfield {

// Larger values are neither trained on nor coded: of 65,536 columns float32 holds the squares of
// them, and of codewords that are ten times as large.
inline constexpr float kMostOfAValue = 1e15F;

// Of a file: a codeword may be ten times as large, and a rotation has no value above 1.
inline constexpr float kMostOfACodeword = 10 * kMostOfAValue;
inline constexpr float kMostOfARotation = 1.001F;

// Of rows whose largest value is smaller, and not 0, rq and lsq are not trained: float32 has no
// squares of what their codes would leave.
inline constexpr float kLeastOfTheLargest = 1e-15F;

// Throws invalid_argument, naming what is out of range.
void check_options(const QuantizerOptions& options, std::int64_t cols);

// Whether codes of that kind are searched for on a device. Throws unsupported where the context has
// one, and `what` does not run there.
bool searches_on_device(const QuantizerOptions& options, const Context& context,
                        std::string_view what);

struct Quantizer::State {
  QuantizerOptions options;
  std::uint64_t seed = 0;
  std::vector<double> errors;
  Codebooks coding;             // what rows are coded with: of opq after the rotation
  std::vector<float> rotation;  // of opq, else empty
  Codebooks decoding;           // of opq rotated back, else empty: the same

  const Codebooks& codebooks() const { return rotation.empty() ? coding : decoding; }

  // The tables of the last ISA that was asked for: they take longer to make than some rows to code.
  // Who only asks whether there are some does not wait for who makes them.
  struct KeptTables {
    std::mutex making;
    std::mutex mutex;  // of what follows
    const CodeKernels* kernels = nullptr;
    std::shared_ptr<const IcmTables> tables;
  };
  std::unique_ptr<KeptTables> kept = std::make_unique<KeptTables>();
};

// Of a state that is read: what is made of it is made here.
Quantizer make_quantizer(std::shared_ptr<Quantizer::State> state);

// Of a file: throws corrupt_file, naming the tensor, where a value is not finite or beyond `most`.
void check_read_values(std::span<const float> values, float most, const std::string& path,
                       std::string_view tensor);

// Of a file: its codewords are such values, and those of pq and opq are 0 outside the columns of
// their codebook, for encoding looks at those columns alone and decoding at all.
void check_read_codebooks(const Codebooks& codebooks, QuantizerKind kind, const std::string& path,
                          std::string_view tensor);

// Of a file: turned there and back, a vector is what it was.
void check_read_rotation(std::span<const float> rotation, std::int64_t cols,
                         const std::string& path, std::string_view tensor);

// Of a training that can go on.
struct LsqCheckpoint {
  QuantizerOptions options;
  std::uint64_t seed = 0;
  std::uint64_t fingerprint = 0;  // of the rows
  LsqState state;
};

void write_quantizer(const std::string& path, const Quantizer::State& state,
                     const CancelToken& cancel);
std::shared_ptr<Quantizer::State> read_quantizer(const std::string& path,
                                                 const Context& context = {});

void write_checkpoint(const std::string& path, const LsqCheckpoint& checkpoint,
                      const CancelToken& cancel);

// Empty if there is no such file. Throws corrupt_file where it is none, invalid_argument where it
// is of other rows, options or seed than expected.
std::optional<LsqState> read_checkpoint(const std::string& path, const LsqCheckpoint& expected,
                                        std::int64_t rows, std::int64_t cols);

}  // namespace nearfield
