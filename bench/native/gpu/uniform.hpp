// The thesis's data: vectors of the cube [0, 1]^d, drawn from a fixed seed. The same bits whatever
// the threads.
#pragma once

#include <cstdint>
#include <vector>

#include <nearfield/matrix.hpp>

namespace nearfield::bench {

inline constexpr std::uint64_t kQuerySeed = 2023;
inline constexpr std::uint64_t kRowSeed = 5;

// Rows [first, first + rows) of a set that has no end, float32.
Matrix uniform_vectors(std::int64_t rows, std::int64_t cols, std::uint64_t seed,
                       std::int64_t first = 0);

// The same vectors as u8, 255 for 1.
Matrix bytes_of(const Matrix& vectors);

// What selections read: squared distances of such vectors, queries x rows, as float32.
std::vector<float> uniform_distances(std::int64_t queries, std::int64_t rows);

}  // namespace nearfield::bench
