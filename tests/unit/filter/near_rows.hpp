// What every filter by tiles must keep: the rows at or below a threshold, by the oracle's keys.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/infinity.hpp"
#include "core/random.hpp"
#include "filter/filter.hpp"
#include "tests/oracle/oracle.hpp"

namespace nearfield {

// The true key of every pair; NaN where there is none.
inline std::vector<double> true_keys(MatrixView queries, MatrixView base, Metric metric) {
  KnnOptions options;
  options.k = base.rows();
  options.metric = metric;
  const oracle::Answer answer = oracle::knn(queries, base, options);
  std::vector<double> keys(static_cast<std::size_t>(queries.rows() * base.rows()), NAN);
  for (std::int64_t query = 0; query < queries.rows(); ++query) {
    for (std::int64_t i = 0; i < base.rows(); ++i) {
      const auto at = static_cast<std::size_t>(query * base.rows() + i);
      if (answer.ids[at] < 0) continue;
      keys[static_cast<std::size_t>(query * base.rows() + answer.ids[at])] = answer.keys[at];
    }
  }
  return keys;
}

// A filter of so many queries and rows, and the keys of all of them.
struct NearRows {
  std::int64_t queries;
  std::int64_t rows;
  std::vector<double> keys;

  double key(std::int64_t query, std::int64_t row) const {
    return keys[static_cast<std::size_t>(query * rows + row)];
  }

  // Keys that occur, and infinities.
  std::vector<double> any_thresholds(Random& random) const {
    std::vector<double> thresholds;
    for (std::int64_t query = 0; query < queries; ++query) {
      const double one = key(query, random.below(rows));
      const double special = random.below(2) == 0 ? kInfinity : -kInfinity;
      thresholds.push_back(std::isnan(one) || random.below(20) == 0 ? special : one);
    }
    return thresholds;
  }

  std::vector<double> any_row_thresholds(Random& random) const {
    std::vector<double> thresholds;
    for (std::int64_t row = 0; row < rows; ++row) {
      const double one = key(random.below(queries), row);
      thresholds.push_back(std::isnan(one) ? std::numeric_limits<double>::infinity() : one);
    }
    return thresholds;
  }

  // How many rows at or below a threshold there were.
  std::int64_t expect_kept(const TwoSidedFilter& filter, Random& random) const {
    const std::vector<double> thresholds = any_thresholds(random);
    // Every other time the rows ask too: that finds more, and no less.
    std::vector<double> row_thresholds;
    if (filter.two_sided() != nullptr && random.below(2) == 0) {
      row_thresholds = any_row_thresholds(random);
    }
    Candidates found;
    filter.survivors_of_both({{0, queries}, {0, rows}}, thresholds, row_thresholds, found);
    std::int64_t near = 0;
    std::size_t next = 0;
    for (std::int64_t query = 0; query < queries; ++query) {
      std::vector<bool> kept(static_cast<std::size_t>(rows));
      for (const std::uint32_t row : found.rows_of(query)) {
        kept[row] = true;
        if (found.keyed()) {
          EXPECT_EQ(found.keys()[next], key(query, row));
        }
        ++next;
      }
      for (std::int64_t row = 0; row < rows; ++row) {
        const bool asked = !row_thresholds.empty() &&
                           key(query, row) <= row_thresholds[static_cast<std::size_t>(row)];
        if (!(key(query, row) <= thresholds[static_cast<std::size_t>(query)]) && !asked) continue;
        ++near;
        EXPECT_TRUE(kept[static_cast<std::size_t>(row)])
            << filter.name() << ", query " << query << ", row " << row << ", key "
            << key(query, row);
      }
    }
    return near;
  }
};

}  // namespace nearfield
