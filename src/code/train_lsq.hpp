// Codebooks by local search quantization.
#pragma once

#include <cstdint>
#include <vector>

#include <nearfield/quantize.hpp>

#include "code/code_work.hpp"
#include "code/codebooks.hpp"
#include "code/local_search.hpp"

namespace nearfield {

// What training knows after some iterations: with it, it can go on.
struct LsqState {
  Codebooks codebooks;
  std::vector<std::uint8_t> codes;  // of the rows trained on, a byte each
  std::vector<double> errors;       // mean squared, after each iteration's search
};

// Uniform random codes, and the codebooks that fit them best. Rows lie close to each other.
LsqState begin_lsq(const FloatRows& rows, const QuantizerOptions& options, std::uint64_t seed,
                   const CodeWork& work);

// One iteration: codes by local search from those before, then the codebooks. Without relaxation
// the error never grows.
void step_lsq(LsqState& state, const FloatRows& rows, const QuantizerOptions& options,
              std::uint64_t seed, const CodeWork& work);

// What they take beside the rows, the state included.
std::int64_t train_lsq_bytes(const QuantizerOptions& options, std::int64_t count, std::int64_t cols,
                             int threads, bool on_device);

// Codes of rows by local search, or of one codebook by the exact search: the nearest codeword is
// what no local search could better. costs may be null.
void find_lsq_codes(const FloatRows& rows, const Codebooks& codebooks, const LocalSearch& search,
                    StartCodes start, std::uint8_t* codes, float* costs, const CodeWork& work);

}  // namespace nearfield
