#include "filter/gpu/key_finder.hpp"

#include <cstring>

#include "filter/gpu/copied_rows.hpp"

namespace nearfield {

KeyFinder::KeyFinder(gpu::Device& device, const DeviceSearch& search)
    : device_(device), search_(search), step_(search.metric, search.cols) {}

std::int64_t KeyFinder::query_bytes() const {
  return copied_row_bytes(search_.queries, search_.cols);
}
std::int64_t KeyFinder::row_bytes() const { return copied_row_bytes(search_.rows, search_.cols); }

void KeyFinder::take_queries(gpu::Queue& queue, MatrixView queries) {
  queries_.rows.reset();  // first: the limit counts one batch of them
  queries_ = copied_rows(device_, queue, queries);
}

void KeyFinder::take_rows(gpu::Queue& queue, MatrixView rows) {
  rows_.rows.reset();
  rows_ = copied_rows(device_, queue, rows);
}

void KeyFinder::write_limits(Range /*queries*/, std::span<const double> thresholds,
                             std::byte* limits) const {
  std::memcpy(limits, thresholds.data(), thresholds.size_bytes());
}

void KeyFinder::find(gpu::Queue& queue, const Block& block, const gpu::Buffer& limits,
                     const PairList& found) const {
  step_.close(queue, {queries_, search_.queries, block.queries.begin, block.queries.size()},
              {rows_, search_.rows, block.rows.begin, block.rows.size()}, limits, found);
}

}  // namespace nearfield
