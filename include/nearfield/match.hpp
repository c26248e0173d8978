// Descriptors of two images, and which of them belong together.
#pragma once

#include <optional>
#include <string_view>

#include <nearfield/context.hpp>
#include <nearfield/matrix.hpp>
#include <nearfield/metric.hpp>
#include <nearfield/results.hpp>
#include <nearfield/rows.hpp>

namespace nearfield {

// What else must hold of a match, seen from `second`.
enum class CrossCheck {
  none,
  nearest,  // the row of `second` has that of `first` for its nearest
  tested,   // and that one passes the tests of ratio, margin and distance too
};

// "none", "nearest", "tested"; throws invalid_argument with these.
CrossCheck parse_cross_check(std::string_view name);

// How far descriptors are apart, for the tests and in the answer.
enum class MatchDistance {
  reported,    // what the metric reports, in float64
  sift_angle,  // between SIFT bytes, taken to have length 512: acos(product / 512^2), in float32,
               // as COLMAP has it; of Metric::inner_product and u8. Tests are in float32 too
};

// d1 is how far the nearest row of `second` is from a row of `first`, d2 the second nearest. Where
// there is none, d2 is infinite; for sift_angle it is a right angle.
struct MatchOptions {
  // A distance, so that ratios mean something: sqeuclidean and similarities are refused. Of binary
  // descriptors hamming, and rather a margin than a ratio.
  MetricSpec metric = Metric::euclidean;
  MatchDistance distance = MatchDistance::reported;

  // d1 < ratio * d2, from above 0 to 1: true distances, and strictly, so that 1 rejects ties.
  // Empty: any.
  std::optional<double> ratio = 0.8;
  // d2 - d1 >= margin.
  std::optional<double> margin = {};
  // d1 <= max_distance.
  std::optional<double> max_distance = {};

  CrossCheck cross_check = CrossCheck::nearest;
  bool check_finite = false;  // as in KnnOptions

  // The rules of COLMAP's brute-force matcher of SIFT bytes on CPUs, with its numbers.
  static MatchOptions colmap() {
    return {.metric = Metric::inner_product,
            .distance = MatchDistance::sift_angle,
            .ratio = 0.8,
            .max_distance = 0.7,
            .cross_check = CrossCheck::tested};
  }
};

// A row of `first` and its nearest of `second`, if they pass: every row of `first` is in at most
// one pair, and with a cross check so is every one of `second`. Distances are those that were
// tested. An image without descriptors has no matches. One pass serves both directions as in
// mutual().
Pairs match(const RowSource& first, const RowSource& second, const MatchOptions& options = {},
            const Context& context = {});

inline Pairs match(MatrixView first, MatrixView second, const MatchOptions& options = {},
                   const Context& context = {}) {
  return match(MatrixRows(first), MatrixRows(second), options, context);
}

// What match would do, without doing it; of two passes, the first.
Plan plan_match(const RowSource& first, const RowSource& second, const MatchOptions& options = {},
                const Context& context = {});

}  // namespace nearfield
