// Metrics between objects that come with the library. PivotIndex takes them as they are; those with
// a name are object_metric's too, for MetricIndex.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nearfield/object_metric.hpp>

namespace nearfield {

// ---- of std::string ----

// Symbols that must be added, dropped or replaced. Symbols are the code points of UTF-8; a byte
// that is part of none is one of its own. Has signatures.
struct EditDistance {
  double operator()(std::string_view a, std::string_view b) const;
  static std::shared_ptr<const ObjectMetric> compiled();
};

// The same where swapping two neighbours is one edit too, and may be edited between (the form that
// keeps the triangle inequality).
struct DamerauDistance {
  double operator()(std::string_view a, std::string_view b) const;
  static std::shared_ptr<const ObjectMetric> compiled();
};

// ---- of std::vector<std::uint64_t> ----

// Of sets, whose members rise: what only one has, of what either has. 0 of two empty ones.
struct JaccardDistance {
  static constexpr std::string_view name = "jaccard";
  double operator()(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) const;
};

// ---- of std::vector<double>; two of different sizes are an error ----

// The angle between two vectors, 0 to pi; pi/2 between a vector of zeros and any other.
struct AngularDistance {
  static constexpr std::string_view name = "angular";
  double operator()(std::span<const double> a, std::span<const double> b) const;
};

// The p-th root of the sum of |x-y|^p, p from 1 on; of an infinite p the largest |x-y|.
struct LpDistance {
  explicit LpDistance(double exponent = 2);  // below 1 it is no metric, and an error
  double operator()(std::span<const double> a, std::span<const double> b) const;

  double p;
  std::string name;  // "lp:1.5"
};

// Of sets of points, one behind the other: how far at most a point of one is from the nearest of
// the other, by L2. Sets are not empty.
struct HausdorffDistance {
  explicit HausdorffDistance(std::int64_t columns_of_a_point = 2);
  double operator()(std::span<const double> a, std::span<const double> b) const;

  std::int64_t columns;
  std::string name;  // "hausdorff:2"
};

// The least work that turns one histogram into the other: mass times the way it goes. Masses are
// not negative and have equal sums, up to rounding.
struct EarthMoversDistance {
  // Between each two bins, row by row: itself a metric, or the distance is none.
  explicit EarthMoversDistance(std::vector<double> ground_distances);
  double operator()(std::span<const double> a, std::span<const double> b) const;

  std::int64_t bins;
  std::vector<double> ground;
  std::string name;  // "earth movers:6:c3a1...": the bins, and a hash of the ground distances
};

// The root of (x-y)' A (x-y). Of an A that is not positive definite it is no metric, and an error.
struct QuadraticFormDistance {
  explicit QuadraticFormDistance(std::span<const double> matrix);  // row by row, symmetric
  double operator()(std::span<const double> a, std::span<const double> b) const;

  std::int64_t columns;
  std::vector<double> factor;  // the lower triangle L of A = L L'
  std::string name;            // "quadratic form:3:5e0f...": the columns, and a hash of A
};

// Of weighted signatures, rows of a weight and a point: the same form over the points of both, with
// exp(-alpha |x-y|^2) between two.
struct SignatureQuadraticFormDistance {
  explicit SignatureQuadraticFormDistance(std::int64_t columns_of_a_point, double similarity_alpha);
  double operator()(std::span<const double> a, std::span<const double> b) const;

  // A difference of sums that cancel: rounding is larger than usual.
  static constexpr double slack = 0x1p-20;
  std::int64_t columns;
  double alpha;
  std::string name;  // "signature quadratic form:3:0.5": the columns and alpha
};

// ---- by name ----

// What its objects are.
enum class ObjectInput { text, members, numbers };

struct ObjectMetricInfo {
  std::string_view name;  // with what it needs: "lp:P"
  std::string_view description;
  ObjectInput input;
};

// Those that object_metric knows.
std::span<const ObjectMetricInfo> object_metrics();

// "edit", "lp:1.5". Throws invalid_argument with the list of them.
std::shared_ptr<const ObjectMetric> object_metric(std::string_view name);

}  // namespace nearfield
