// The thesis's data: SIFT descriptors, and random vectors of norm 1, both of 128 columns.
#pragma once

#include <cstdint>
#include <string>

#include <nearfield/knn.hpp>
#include <nearfield/matrix.hpp>

#include "bench/native/gpu/measuring.hpp"

namespace nearfield::bench {

inline constexpr std::int64_t kDescriptorCols = 128;

struct Descriptors {
  std::string data;  // how lines name it
  Matrix queries;
  Matrix rows;
  double norm;     // that all vectors are taken to have: of a dot product, the distance follows
  double largest;  // of all values
};

// Values of a cube, [0, 1)^128, each vector divided by its norm.
Descriptors unit_vectors(std::int64_t queries, std::int64_t rows);

// The first of base.u8bin and queries.u8bin of a folder of bench/datasets. For Size::tiny no folder
// is needed: unit vectors times 512 then, rounded.
Descriptors sift_bytes(const std::string& folder, Size size, std::int64_t queries,
                       std::int64_t rows);

// The same as float32, rows times 1 + spread * normal: what norms do that are not equal.
Descriptors with_spread(const Descriptors& descriptors, double spread);

// All rows, and of the queries the first.
Descriptors first_queries(const Descriptors& descriptors, std::int64_t queries);

// Mean and standard deviation, of queries and of rows.
std::string norms_of(const Descriptors& descriptors);

// The CPU's answers, exact: the two nearest, and the two of the largest dot products.
struct Truth {
  Neighbors nearest;
  Neighbors by_product;

  explicit Truth(const Descriptors& descriptors);
};

// Of one query and one row.
double product_of(const Descriptors& descriptors, std::int64_t query, std::int64_t row);
double square_of(const Descriptors& descriptors, std::int64_t query, std::int64_t row);

}  // namespace nearfield::bench
