// Some bits of rows, as numbers of buckets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <nearfield/matrix.hpp>

#include "core/monitor.hpp"

namespace nearfield {

// Bit i of a bucket is the bit at the i-th of the positions.
void write_buckets(MatrixView rows, std::span<const std::uint32_t> positions,
                   std::span<std::uint32_t> out);

// Of one row.
std::uint32_t bucket_of(const std::byte* row, std::span<const std::uint32_t> positions);

// The same on threads, of many rows.
void hash_rows(MatrixView rows, std::span<const std::uint32_t> positions, std::uint32_t* out,
               int threads, const Monitor& monitor);

// Buckets as bytes.
void copy_codes(std::span<const std::uint32_t> buckets, std::uint8_t* codes);

// In how many of the positions two rows differ.
int differing_bits(const std::byte* a, const std::byte* b,
                   std::span<const std::uint32_t> positions);

}  // namespace nearfield
