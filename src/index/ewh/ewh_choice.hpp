// Which tables, weights and threshold rows are searched with, where a caller leaves that open.
#pragma once

#include <cstdint>
#include <vector>

#include <nearfield/matrix.hpp>

#include "core/monitor.hpp"
#include "index/ewh/ewh_parameters.hpp"
#include "index/ewh/ewh_theory.hpp"

namespace nearfield {

// In how many bits rows differ that have nothing to do with each other: of as many pairs of a
// sample, sorted.
std::vector<std::int64_t> sampled_distances(MatrixView rows);

// Of rows of which there will be so many. Weights are in proportion to what it tells to meet a row
// in a bucket: the logarithm of how much likelier that is for a row that differs in `near` bits
// than for one of the sample, above that of meeting it in none of them. The threshold is the
// largest with which a row at `near` is found with the chance asked for; tables and bits are those
// that then take least time, by ewh_tuning. The same rows, the same choice.
EwhShape choose_ewh(MatrixView like, std::int64_t rows, const EwhParameters& parameters,
                    const Monitor& monitor);

// What it takes at most of memory, whatever it chooses.
struct EwhMost {
  std::int64_t tables;
  int bits;
};
EwhMost most_of_ewh(std::int64_t rows, std::int64_t cols, const EwhParameters& parameters);

// What a query of these rows is taken to cost, in nanoseconds of a thread.
double ewh_cost(const EwhShape& shape, MatrixView rows);

// Whether rows are scored one by one by a kernel, instead of by the lists of buckets.
bool scores_every_row(const EwhShape& shape);

// The bits that the tables look at, rising in each: table by table, from the seed alone.
std::vector<std::uint32_t> random_positions(const EwhShape& shape, std::int64_t cols,
                                            std::int64_t seed);

}  // namespace nearfield
