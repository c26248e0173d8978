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

bool ByteFinder::applies_to_two(const DeviceSearch& search) {
  return applies(search) && search.first_of_any > 0 && search.first_of_any <= 2;
}

ByteFinder::ByteFinder(gpu::Device& device, const DeviceSearch& search, bool two)
    : device_(device),
      search_(search),
      two_(two),
      step_(search.queries, search.rows, search.cols, ProductKind::i8, output_of(search.metric),
            {}) {}

// With what is copied, until it is converted.
std::int64_t ByteFinder::query_bytes() const { return step_.vector_bytes(search_.queries); }
std::int64_t ByteFinder::row_bytes() const { return step_.vector_bytes(search_.rows); }

void ByteFinder::take_queries(gpu::Queue& queue, MatrixView queries) {
  queries_ = {};
  queries_ = step_.convert_queries(device_, queue, queries);
  read_adds(queue);
  queries_.source.reset();
}

void ByteFinder::use_queries(gpu::Queue& queue, const gpu::ArrayTile& queries, std::int64_t count) {
  queries_ = {};
  queries_ = step_.room_for(device_, count);
  step_.convert_queries(queue, queries, search_.queries, count, queries_);
  read_adds(queue);
}

void ByteFinder::read_adds(gpu::Queue& queue) {
  adds_.resize(static_cast<std::size_t>(queries_.count));
  queue.read(*queries_.adds, adds_.data());
  queue.wait();
}

void ByteFinder::bring_rows(gpu::Queue& queue, MatrixView rows) {
  coming_ = step_.convert_rows(device_, queue, rows);
  queue.wait();
  coming_.source.reset();
}

void ByteFinder::use_rows(gpu::Queue& /*queue*/) { rows_ = std::move(coming_); }

void ByteFinder::drop_rows() {
  rows_ = {};
  coming_ = {};
}

std::string ByteFinder::name() const {
  return two_ ? "int8 products and the first two of them, on the device"
              : "int8 products, on the device";
}

void ByteFinder::write_limits(Range queries, std::span<const double> thresholds,
                              std::byte* limits) const {
  for (std::size_t i = 0; i < thresholds.size(); ++i) {
    const Limit limit{adds_[static_cast<std::size_t>(queries.begin) + i], limit_of(thresholds[i])};
    std::memcpy(limits + i * sizeof(Limit), &limit, sizeof(Limit));
  }
}

CloseVectors ByteFinder::queries_of(const Block& block, const gpu::Buffer& limits) const {
  return {*queries_.values, limits, block.queries.begin, block.queries.end};
}

CloseVectors ByteFinder::rows_of(const Block& block) const {
  return {*rows_.values, *rows_.adds, block.rows.begin, block.rows.end};
}

void ByteFinder::find(gpu::Queue& queue, const Block& block, const gpu::Buffer& limits,
                      const PairList& found) const {
  if (!two_) return step_.close(queue, queries_of(block, limits), rows_of(block), found);
  const std::int64_t tiles = product_tiles(block.queries.begin, block.queries.end);
  step_.close_two(queue, queries_of(block, limits), rows_of(block),
                  row_parts_of(block, tiles, most_found(), found.most), found);
}

// Nothing is too far.
void ByteFinder::write_terms(Range queries, std::byte* terms) const {
  const std::vector<double> all(static_cast<std::size_t>(queries.size()),
                                std::numeric_limits<double>::infinity());
  write_limits(queries, all, terms);
}

void ByteFinder::bounds(gpu::Queue& queue, const Block& block, const gpu::Buffer& terms,
                        const gpu::Buffer& found) const {
  step_.bounds(queue, queries_of(block, terms), rows_of(block), found);
}

void ByteFinder::expect_gathered(gpu::Queue& /*queue*/, const std::function<float()>& /*largest*/,
                                 std::int64_t most) {
  rows_ = {};
  rows_ = step_.room_for(device_, most);
}

void ByteFinder::take_gathered(gpu::Queue& queue, const gpu::ArrayTile& rows, std::int64_t count) {
  step_.convert_rows(queue, rows, search_.rows, count, rows_);
}

void ByteFinder::find_met(gpu::Queue& queue, Range queries, const gpu::Buffer& limits,
                          const MetRows& met, const PairList& found) const {
  const Block block{queries, {0, rows_.count}};
  step_.close_met(queue, queries_of(block, limits), rows_of(block), met, found);
}

}  // namespace nearfield
