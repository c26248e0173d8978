// What stands behind the name of the family: "lsh,hash=learned,bits=20,tables=16,probes=32".
#pragma once

#include <cstdint>
#include <string>

#include <nearfield/index.hpp>

namespace nearfield {

inline constexpr std::int64_t kMostLshBits = 64;
inline constexpr std::int64_t kMostLshTables = 1024;
inline constexpr std::int64_t kMostLshProbes = 4096;

// A cell of floor and a coordinate of e8 are known by the last bits of their numbers. Cells 16
// apart share a key, which are so far from each other that few rows are in both.
inline constexpr int kLshCellBits = 4;

enum class LshKind {
  sign,      // sides of planes through the origin, whose normals are of +1 and -1
  gaussian,  // likewise, of normally distributed numbers
  floor,     // cells of lines along such numbers: floor((x.q + b) / w)
  e8,        // the nearest point of the lattice E8, of 8 such lines
  learned,   // sides of planes that halve the rows, along directions in which those differ most
};

// How the key of a table is made.
struct LshScheme {
  LshKind kind = LshKind::learned;
  int bits = 0;  // of a key
  int each = 1;  // of a projection, of those that have sides: 1 or 2

  int bits_of_a_projection() const;
  int projections() const { return bits / bits_of_a_projection(); }
  // Numbers that a projection is compared with, or that are added to it.
  int levels() const { return each == 2 ? 3 : 1; }
};

struct LshParameters {
  LshKind kind = LshKind::learned;
  std::int64_t bits = 0;  // 0: by the number of rows
  int each = 1;
  std::int64_t tables = 16;
  std::int64_t probes = 16;  // buckets that a query looks into, of each table
  std::int64_t width = 100;  // of a cell, in hundredths of a projection's standard deviation
  bool sorted = false;       // keys are looked up among sorted ones, not in buckets
  bool tiles = false;        // rows are compared by products of tiles, not pair by pair
  std::uint64_t seed = 0;

  // Of tables over so many rows.
  LshScheme scheme(std::int64_t rows) const;
};

// Throws invalid_argument for what lsh does not have, and for vectors and metrics it cannot hash.
LshParameters parse_lsh(const IndexSpec& spec);

// As parse_lsh reads it.
std::string lsh_family(const LshParameters& parameters);

}  // namespace nearfield
