// Rows of a source, which need not fit into memory, to codes: block by block, in a file that grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include <nearfield/context.hpp>
#include <nearfield/quantize.hpp>
#include <nearfield/rows.hpp>

#include "io/growing_file.hpp"

namespace nearfield {

// Rows of a block: what is lost at most when a process is killed. Some seconds of local search.
inline constexpr std::int64_t kBlockOfRows = 1 << 15;

// Throws where the quantizer cannot code the rows.
void check_encoding(const Quantizer& quantizer, const RowSource& rows, const Context& context);

// Which rows and which quantizer a file is of, and how many bytes it has before them and of each.
std::uint64_t encoding_identity(const Quantizer& quantizer, const RowSource& rows,
                                std::int64_t bytes_before, std::int64_t bytes_of_a_row);

// What goes to the file of the codes of a block.
using BytesOfCodes = std::function<std::span<const std::byte>(MatrixView codes)>;

// Adds what the file does not have yet; its blocks are of kBlockOfRows. bytes_of takes so much
// memory of a block. Returns how many rows the file had.
std::int64_t encode_blocks(const Quantizer& quantizer, const RowSource& rows, GrowingFile& file,
                           const BytesOfCodes& bytes_of, std::int64_t memory_of_bytes,
                           const Context& context);

}  // namespace nearfield
