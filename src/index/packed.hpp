// Rows of a part as the tile kernels read them: made once, by who writes, and searched often.
#pragma once

#include <cstdint>
#include <memory>

#include <nearfield/context.hpp>
#include <nearfield/index.hpp>

#include "filter/rounded/packed_bytes.hpp"
#include "search/prepared_base.hpp"

namespace nearfield {

using SharedPacked = std::shared_ptr<const PreparedBase>;

// As a file holds them.
struct StoredPacked {
  MetricSpec metric;
  BaseRounding rounding;
  RoundedTensors tensors;
};

// Of those rows of a part that are full words of 64, so that a bitset of the others can be cut off.
// Null if nothing can be made of them, or if they are too few to pay.
SharedPacked pack(MatrixView rows, MetricSpec metric, const Context& context);

// What that takes, with its making.
std::int64_t pack_bytes(const IndexSpec& spec, std::int64_t rows, int threads);

// For a search on this machine. Looks at the tensors, which must outlive it.
SharedPacked packed_of_file(const StoredPacked& stored, std::int64_t rows);

// Whether so many rows, of which so many are packed, should be packed anew: the others are searched
// as they are, a search of their own.
bool should_pack(std::int64_t rows, std::int64_t packed);

// Whether its searches look at all rows, so that they are packed at all: who looks at single rows
// reads them as they lie, and saves d + 16 bytes of each.
bool scans_tiles(const IndexSpec& spec);

// Whether vectors are kept in the layout of the tile kernels alone: bytes under a metric that loses
// nothing there.
bool keeps_tiles_alone(const IndexSpec& spec);
PackedBytes packed_bytes(const IndexSpec& spec, std::int64_t capacity);

// The first of them, for a search on an ISA whose queries they serve. Looks at the bytes, which
// must outlive it.
SharedPacked packed_first(const PackedBytes& bytes, MetricSpec metric, std::int64_t rows, Isa isa);

// What they take beside the rows.
std::int64_t bytes_of(const RoundedTensors& tensors);

}  // namespace nearfield
