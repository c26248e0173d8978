#include "index/lsh/gpu/lsh_products.hpp"

#include <algorithm>

#include "core/checked.hpp"
#include "distance/gpu/round_step.hpp"
#include "filter/gpu/byte_finder.hpp"
#include "filter/gpu/copied_rows.hpp"
#include "filter/gpu/half_finder.hpp"
#include "hash/gpu/short_list_step.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kLimitBytes = 8;  // of both finders

// There is no other metric or type of lsh.
std::unique_ptr<ProductFinder> make_product_finder(gpu::Device& device,
                                                   const LshProducts::Types& types) {
  const DeviceSearch search{.metric = types.metric,
                            .queries = types.queries,
                            .rows = types.rows,
                            .cols = types.cols,
                            .query_count = kLshTileQueries,
                            .row_count = kLshTileTuning.most_gathered,
                            .first_of_any = 0,
                            .threads = 1,
                            .most_found = 0};
  if (ByteFinder::applies(search)) return std::make_unique<ByteFinder>(device, search, false);
  return std::make_unique<HalfFinder>(device, search);
}

}  // namespace

// With its place in the list of those that were met.
std::int64_t LshProductRoom::gathered_bytes() const {
  return PlaceList::kPlaceBytes + row_bytes + rounded_bytes(cols);
}

// Of gathered rows and of a batch of queries; and limits of a block.
std::int64_t LshProductRoom::padding_bytes() const {
  return 2 * rounded_padding(cols) + kLshTileQueries * kLimitBytes;
}

std::int64_t LshProductRoom::query_bytes() const { return rounded_bytes(cols); }

std::int64_t LshProductRoom::bytes(std::int64_t gathered) const {
  return gathered * gathered_bytes() + padding_bytes();
}

std::int64_t LshProductRoom::most_rows(std::int64_t rows) const {
  return std::clamp(kLshTileTuning.most_gathered_bytes / gathered_bytes(),
                    std::min(kProductTile, rows), std::min(kLshTileTuning.most_gathered, rows));
}

std::int64_t LshProductRoom::rows_within(std::int64_t bytes, std::int64_t rows) const {
  return std::min((bytes - padding_bytes()) / gathered_bytes(), most_rows(rows));
}

LshProducts::LshProducts(gpu::Device& device, const Types& types, std::int64_t most_rows)
    : finder_(make_product_finder(device, types)),
      pace_(types.cols, kProductTile),
      met_(device, most_rows),
      gathered_{device.allocate(most_rows * copied_row_bytes(types.rows, types.cols)),
                copied_row_bytes(types.rows, types.cols)},
      limits_(device.allocate(kLshTileQueries * kLimitBytes)) {}

void LshProducts::take_queries(gpu::Queue& queue, const gpu::ArrayTile& queries,
                               std::int64_t count) {
  finder_->use_queries(queue, queries, count);
}

void LshProducts::take_rows(gpu::Queue& queue, const gpu::ArrayTile& rows,
                            const std::function<float()>& largest) {
  rows_ = &rows;
  finder_->expect_gathered(queue, largest, met_.most);
}

std::int64_t LshProducts::close(gpu::Queue& queue, Range queries,
                                std::span<const double> thresholds, std::int64_t first,
                                std::int64_t count, const gpu::Buffer& marks, std::int64_t words,
                                const PairList& found) {
  const std::int64_t limit_bytes = queries.size() * finder_->limit_bytes();
  host_limits_.resize(static_cast<std::size_t>(limit_bytes));
  finder_->write_limits(queries, thresholds, host_limits_.data());
  std::uint32_t listed = 0;
  const gpu::WaitAtEnd wait(queue);
  pace_.begin();
  queue.write(*limits_, host_limits_.data(), {1, limit_bytes, limit_bytes, limit_bytes});
  gather_rows(queue, {*rows_->rows, first * rows_->stride, rows_->stride, gathered_.stride}, met_,
              count, *gathered_.rows);
  finder_->take_gathered(queue, gathered_, count);
  finder_->find_met(queue, queries, *limits_, {*met_.places, marks, words}, found);
  queue.read(*found.count, &listed);
  queue.wait();
  pace_.end(queries.size() * count);
  return listed;
}

}  // namespace nearfield
