#include "filter/gpu/byte_finder.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/byte_type.hpp"

namespace nearfield {
namespace {

ProductOutput output_of(MetricSpec metric) {
  return metric.metric == Metric::inner_product ? ProductOutput::inner_product
                                                : ProductOutput::sqeuclidean;
}

// The largest integer that is not above; no key is the smallest of all.
std::int32_t limit_of(double threshold) {
  constexpr auto kLeast = static_cast<double>(std::numeric_limits<std::int32_t>::min());
  constexpr auto kMost = static_cast<double>(std::numeric_limits<std::int32_t>::max());
  if (std::isnan(threshold)) return std::numeric_limits<std::int32_t>::min();
  return static_cast<std::int32_t>(std::clamp(std::floor(threshold), kLeast, kMost));
}

}  // namespace

bool ByteFinder::applies(const DeviceSearch& search) {
  const Metric metric = search.metric.metric;
  const bool known = metric == Metric::sqeuclidean || metric == Metric::euclidean ||
                     metric == Metric::inner_product;
  return known && is_byte(search.queries) && is_byte(search.rows) && search.cols > 0 &&
         search.cols <= most_byte_cols(search.queries, search.rows, output_of(search.metric));
}

ByteFinder::ByteFinder(gpu::Device& device, const DeviceSearch& search)
    : device_(device),
      search_(search),
      step_(search.queries, search.rows, search.cols, ProductKind::i8, output_of(search.metric),
            {}) {}

// With what is copied, until it is converted.
std::int64_t ByteFinder::query_bytes() const { return step_.vector_bytes(search_.queries); }
std::int64_t ByteFinder::row_bytes() const { return step_.vector_bytes(search_.rows); }

void ByteFinder::take_queries(gpu::Queue& queue, MatrixView queries) {
  queries_ = {};
  queries_ = step_.convert_queries(device_, queue, queries);
  adds_.resize(static_cast<std::size_t>(queries.rows()));
  queue.read(*queries_.adds, adds_.data());
  queue.wait();
  queries_.source.reset();
}

void ByteFinder::take_rows(gpu::Queue& queue, MatrixView rows) {
  rows_ = {};
  rows_ = step_.convert_rows(device_, queue, rows);
  queue.wait();
  rows_.source.reset();
}

void ByteFinder::write_limits(Range queries, std::span<const double> thresholds,
                              std::byte* limits) const {
  for (std::size_t i = 0; i < thresholds.size(); ++i) {
    const Limit limit{adds_[static_cast<std::size_t>(queries.begin) + i], limit_of(thresholds[i])};
    std::memcpy(limits + i * sizeof(Limit), &limit, sizeof(Limit));
  }
}

void ByteFinder::find(gpu::Queue& queue, const Block& block, const gpu::Buffer& limits,
                      const PairList& found) const {
  step_.close(queue, {*queries_.values, limits, block.queries.begin, block.queries.end},
              {*rows_.values, *rows_.adds, block.rows.begin, block.rows.end}, found);
}

}  // namespace nearfield
