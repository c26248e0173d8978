// What training and encoding take at most, beside the rows and codes that are given and returned.
#pragma once

#include <cstdint>

#include <nearfield/context.hpp>
#include <nearfield/quantize.hpp>

namespace nearfield {

std::int64_t bytes_of_a_code(const QuantizerOptions& options);

std::int64_t training_bytes(const QuantizerOptions& options, std::int64_t rows, std::int64_t cols,
                            int threads, bool on_device = false);

// Rows are floats some at a time while they are encoded: 16,384 of them, but for local search by
// many threads; or fewer.
std::int64_t encoding_bytes(const QuantizerOptions& options, std::int64_t rows, std::int64_t cols,
                            int threads, bool on_device = false);

// How many at a time fit into the limit of the context: half as many until they do.
std::int64_t rows_at_once(const QuantizerOptions& options, std::int64_t rows, std::int64_t cols,
                          const Context& context, bool on_device);

// Of a row that is encoded: as floats, twice for who rotates them, with its codes and what is
// beside them.
std::int64_t encoded_row_bytes(int codebooks, std::int64_t cols);

}  // namespace nearfield
