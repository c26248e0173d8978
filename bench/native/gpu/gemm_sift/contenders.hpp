// Ways to the two nearest rows of each query, each compared with the CPU's before it counts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/native/gpu/gemm_sift/batched_run.hpp"
#include "bench/native/gpu/gemm_sift/descriptors.hpp"
#include "bench/native/gpu/gemm_sift/fills.hpp"
#include "bench/native/gpu/measuring.hpp"

namespace nearfield::bench {

struct Problem {
  Descriptors descriptors;
  Truth truth;

  explicit Problem(Descriptors vectors) : descriptors(std::move(vectors)), truth(descriptors) {}

  BatchShape shape(std::int64_t batch, std::int64_t queues = 1) const {
    return {descriptors.queries.rows(), descriptors.rows.rows(), batch, queues};
  }
};

// The i-th found is about as near as the i-th of the CPU, and as the row that it names: in a table
// whose values are off by at most the bound, both hold.
void check_products(const std::string& series, const Problem& problem,
                    const std::vector<DeviceItem>& items, double bound);
void check_naive(const std::string& series, const Problem& problem,
                 const std::vector<DeviceItem>& items);
void check_exact(const std::string& series, const Problem& problem, const Neighbors& found);

// Tables alone. The check selects from them.
Contender tables_alone(const std::string& series, const Measuring& measuring,
                       const Problem& problem, Precision precision, const BatchShape& shape);

// By kernels alone, from converted data on the device.
Contender by_products(const std::string& series, const Measuring& measuring, const Problem& problem,
                      Precision precision, const BatchShape& shape);
// From the host's memory: copying and rounding to halves too.
Contender by_products_from_host(const std::string& series, const Measuring& measuring,
                                const Problem& problem, Precision precision,
                                const BatchShape& shape);
Contender by_naive(const Measuring& measuring, const Problem& problem, const BatchShape& shape);

// The library's own, exact. An empty context: on the CPU.
Contender by_exact_knn(const Problem& problem, const Context& context);
// With the ratio 0.8, without cross check: what a user of frames asks for.
Contender by_match(const Problem& problem, const Context& context);

}  // namespace nearfield::bench
