// What hash functions take from the rows: a sample of them, and directions in which it is wide.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <nearfield/matrix.hpp>
#include <nearfield/metric.hpp>

#include "core/monitor.hpp"
#include "core/random.hpp"

namespace nearfield {

struct LearnedDirection {
  std::vector<double> values;     // of length 1
  std::vector<double> centred;    // projections of the sample, less their mean
  std::vector<double> of_sample;  // the projections
};

// Rows at even distances, less their mean; of cosine scaled to length 1 first.
class LshSample {
 public:
  LshSample(MatrixView rows, MetricSpec metric, const Monitor& monitor);

  // What it takes, with so many directions.
  static std::int64_t bytes(std::int64_t cols, std::int64_t directions);

  // Of projections to random directions whose values have variance 1: the root of the sum of the
  // variances of all columns.
  double deviation() const;

  std::vector<double> projections(std::span<const float> direction) const;

  // A random one, twice multiplied by the covariance of the rows: it leans towards where those
  // differ most, beside which near ones differ least. Projections to it do not correlate with those
  // to `others`, as far as there are so many directions.
  LearnedDirection learn_direction(Random& random, std::span<const LearnedDirection> others) const;

 private:
  std::int64_t rows() const { return centred_.rows(); }
  std::span<const double> row(std::int64_t i) const;
  std::vector<double> centred_projections(std::span<const double> direction) const;
  // The sum of all rows, each so many times.
  std::vector<double> sum_of_rows(std::span<const double> times) const;

  Matrix centred_;  // f64
  std::vector<double> mean_;
};

}  // namespace nearfield
