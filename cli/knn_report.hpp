// What `nearfield knn` says about a search.
#pragma once

#include <cstdint>
#include <string>

#include <nearfield/metric.hpp>
#include <nearfield/results.hpp>
#include <nearfield/stats.hpp>

namespace nearfield::cli {

struct KnnTask {
  std::int64_t queries;
  std::int64_t rows;
  std::int64_t dims;
  std::int64_t k;
  MetricSpec metric;
};

// One line for people.
std::string summary(const KnnTask& task, const Stats& stats);

// One JSON object for programs.
std::string to_json(const KnnTask& task, const Plan& plan);
std::string to_json(const KnnTask& task, const Neighbors& neighbors);

}  // namespace nearfield::cli
