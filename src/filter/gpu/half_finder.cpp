#include "filter/gpu/half_finder.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/infinity.hpp"
#include "filter/gpu/copied_rows.hpp"

namespace nearfield {
namespace {

// Halves are at most 2^15, and so are those of vectors of unit length: 2^14 and what rounding adds.
constexpr int kMostExponent = 15;
constexpr double kUnitScale = 0x1p14;
// Of a row of products, the least loss for its length: about what halves lose.
constexpr double kLeastLoss = 0x1p-12;
// More than float32 loses where limits are rounded and added.
constexpr double kSlack = 1 + 0x1p-20;

// What is lost of a sum of products, product_error, of both squares; and of norms and sums that
// are rounded to float32, with some to spare.
double epsilon_of(std::int64_t cols) { return static_cast<double>(cols + 16) * 0x1p-22; }

// The definition's sum has an error of at most (cols + 8) 2^-53 of itself.
double key_error(std::int64_t cols) { return static_cast<double>(cols + 16) * 0x1p-52; }

}  // namespace

bool HalfFinder::applies(const DeviceSearch& search) {
  if (search.rows == DType::bits || search.cols == 0) return false;
  switch (search.metric.metric) {
    case Metric::sqeuclidean:
    case Metric::euclidean:
    case Metric::inner_product:
    case Metric::cosine:
      return true;
    default:
      return false;
  }
}

HalfFinder::HalfFinder(gpu::Device& device, const DeviceSearch& search)
    : device_(device),
      search_(search),
      products_(search.metric.metric == Metric::inner_product),
      keys_(search.metric, search.cols),
      rounding_{.cols = search.cols,
                .unit = search.metric.metric == Metric::cosine,
                .scale = kUnitScale,
                .epsilon = epsilon_of(search.cols),
                .least = kLeastLoss} {}

std::int64_t HalfFinder::query_bytes() const {
  return copied_row_bytes(search_.queries, search_.cols) + rounded_bytes(search_.cols);
}
std::int64_t HalfFinder::row_bytes() const {
  return copied_row_bytes(search_.rows, search_.cols) + rounded_bytes(search_.cols);
}

void HalfFinder::take_queries(gpu::Queue& queue, MatrixView queries) {
  own_queries_.rows.reset();
  queries_ = {};
  own_queries_ = copied_rows(device_, queue, queries);
  use_queries(queue, own_queries_, queries.rows());
}

void HalfFinder::use_queries(gpu::Queue& /*queue*/, const gpu::ArrayTile& queries,
                             std::int64_t count) {
  queries_ = {};
  query_source_ = &queries;
  query_count_ = count;
}

void HalfFinder::bring_rows(gpu::Queue& queue, MatrixView rows) {
  coming_ = copied_rows(device_, queue, rows);
  coming_count_ = rows.rows();
}

void HalfFinder::use_rows(gpu::Queue& queue) {
  rows_ = {};
  row_source_ = std::move(coming_);
  row_count_ = coming_count_;
  round_queries(queue, [&] {
    return largest_magnitude(device_, queue, row_source_, search_.rows, row_count_, search_.cols);
  });
  rows_ =
      round_vectors(device_, queue, row_source_, search_.rows, row_count_, rounding_, row_form());
}

void HalfFinder::round_queries(gpu::Queue& queue, const std::function<float()>& largest_of_rows) {
  if (!rounding_.unit) choose_scale(queue, largest_of_rows());
  queries_ = {};
  queries_ = round_vectors(device_, queue, *query_source_, search_.queries, query_count_, rounding_,
                           RoundedForm::plain);
  plain_.resize(static_cast<std::size_t>(query_count_));
  queue.read(*queries_.terms, plain_.data());
  queue.wait();
}

void HalfFinder::expect_gathered(gpu::Queue& queue, const std::function<float()>& largest,
                                 std::int64_t most) {
  rows_ = {};
  round_queries(queue, largest);
  rows_ = room_for_rounded(device_, most, search_.cols);
}

void HalfFinder::take_gathered(gpu::Queue& queue, const gpu::ArrayTile& rows, std::int64_t count) {
  row_count_ = count;
  round_vectors(queue, rows, search_.rows, count, rounding_, row_form(), rows_);
}

void HalfFinder::drop_rows() {
  rows_ = {};
  row_source_.rows.reset();
  coming_.rows.reset();
}

void HalfFinder::choose_scale(gpu::Queue& queue, float largest_of_rows) {
  const float of_queries = largest_magnitude(device_, queue, *query_source_, search_.queries,
                                             query_count_, search_.cols);
  int above = 0;  // the largest is less than 2^above
  std::frexp(std::max(of_queries, largest_of_rows), &above);
  rounding_.scale = std::ldexp(1.0, kMostExponent - above);
}

void HalfFinder::write_limits(Range queries, std::span<const double> thresholds,
                              std::byte* limits) const {
  for (std::size_t i = 0; i < thresholds.size(); ++i) {
    const Plain& query = plain_[static_cast<std::size_t>(queries.begin) + i];
    const Limit limit = std::isnan(thresholds[i])      ? Limit{-kFloatInfinity, 0}
                        : query.loss == kFloatInfinity ? Limit{kFloatInfinity, 0}
                        : products_                    ? limit_of_product(query, thresholds[i])
                                                       : limit_of_distance(query, thresholds[i]);
    std::memcpy(limits + i * sizeof(Limit), &limit, sizeof(Limit));
  }
}

// Of a row that is at most d away: |x - y|^2 of the halves is at most (a + b)^2 + epsilon (x^2 +
// y^2), where a is d and what the query loses, and b what the row loses; x^2 is on this side.
HalfFinder::Limit HalfFinder::limit_of_distance(const Plain& query, double threshold) const {
  const double error = key_error(search_.cols);
  const double squared = rounding_.unit ? 2 + 2 * (threshold + error) : threshold;
  if (squared < 0) return {-kFloatInfinity, 0};
  const double distance = std::sqrt(squared) * (1 + error) * rounding_.scale;
  const double a = (distance + static_cast<double>(query.loss)) * kSlack;
  const auto squares = static_cast<double>(query.squares);
  return {static_cast<float>(a * a + (rounding_.epsilon - 1) * squares), static_cast<float>(2 * a)};
}

// |xy - x'y'| is at most e |y| + |x'| b, and x'y' is off by epsilon |x'| |y'|. With b at least
// kLeastLoss of the row's length, all of it is at most a multiple of b.
HalfFinder::Limit HalfFinder::limit_of_product(const Plain& query, double threshold) const {
  // The key of a product that overflows: what ties with it is not to be told by a bound.
  if (std::isinf(threshold)) return {kFloatInfinity, 0};
  const double scaled = threshold * rounding_.scale * rounding_.scale;
  return {static_cast<float>(scaled + (kSlack - 1) * std::abs(scaled)),
          static_cast<float>(slope_of_products(query) * kSlack)};
}

double HalfFinder::slope_of_products(const Plain& query) const {
  const double length = std::sqrt(static_cast<double>(query.squares)) * kSlack;
  return static_cast<double>(query.loss) / kLeastLoss +
         length * (1 + rounding_.epsilon / kLeastLoss);
}

CloseVectors HalfFinder::queries_of(const Block& block, const gpu::Buffer& limits) const {
  return {*queries_.values, limits, block.queries.begin, block.queries.end};
}

CloseVectors HalfFinder::rows_of(const Block& block) const {
  return {*rows_.values, *rows_.terms, block.rows.begin, block.rows.end};
}

void HalfFinder::find(gpu::Queue& queue, const Block& block, const gpu::Buffer& limits,
                      const PairList& found) const {
  close_products(queue, ProductKind::f16, half_pieces(search_.cols), factor(),
                 queries_of(block, limits), rows_of(block), found);
  keys_.of_pairs(queue, {*query_source_, search_.queries, block.queries.begin, 0},
                 {row_source_, search_.rows, block.rows.begin, 0}, found);
}

void HalfFinder::find_met(gpu::Queue& queue, Range queries, const gpu::Buffer& limits,
                          const MetRows& met, const PairList& found) const {
  const Block block{queries, {0, row_count_}};
  close_met_products(queue, ProductKind::f16, half_pieces(search_.cols), factor(),
                     queries_of(block, limits), rows_of(block), met, found);
}

// Of distances, with what products are off of the squares; of products, the slope of their limits.
void HalfFinder::write_terms(Range queries, std::byte* terms) const {
  for (std::int64_t i = 0; i < queries.size(); ++i) {
    const Plain& query = plain_[static_cast<std::size_t>(queries.begin + i)];
    const auto squares = static_cast<double>(query.squares);
    const Plain own =
        products_
            ? Plain{0, static_cast<float>(slope_of_products(query) * kSlack)}
            : Plain{static_cast<float>(squares * (1 + rounding_.epsilon) * kSlack), query.loss};
    std::memcpy(terms + i * static_cast<std::int64_t>(sizeof(Plain)), &own, sizeof(Plain));
  }
}

void HalfFinder::bounds(gpu::Queue& queue, const Block& block, const gpu::Buffer& terms,
                        const gpu::Buffer& found) const {
  const double widen = kSlack * (1 + rounding_.epsilon) / (1 - rounding_.epsilon);
  product_bounds(queue, ProductKind::f16, half_pieces(search_.cols), factor(),
                 products_ ? 0.0F : static_cast<float>(widen), queries_of(block, terms),
                 rows_of(block), found);
}

// The other way round than limits are made.
double HalfFinder::key_of_bound(double bound) const {
  const double error = key_error(search_.cols);
  const double plain = bound / (rounding_.scale * rounding_.scale);
  if (products_) return plain;
  return rounding_.unit ? plain / 2 - 1 + error : plain * (1 + 2 * error);
}

}  // namespace nearfield
