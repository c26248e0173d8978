#include "filter/gpu/key_finder.hpp"

#include <cstring>

#include "core/checked.hpp"
#include "filter/gpu/copied_rows.hpp"

namespace nearfield {

bool KeyFinder::fuses(const DeviceSearch& search) {
  return search.first_of_any > 0 && search.first_of_any <= kMostFirstKeys;
}

KeyFinder::KeyFinder(gpu::Device& device, const DeviceSearch& search, bool fused)
    : device_(device), search_(search), fused_(fused), step_(search.metric, search.cols) {}

std::int64_t KeyFinder::query_bytes() const {
  return copied_row_bytes(search_.queries, search_.cols);
}
std::int64_t KeyFinder::row_bytes() const { return copied_row_bytes(search_.rows, search_.cols); }

std::string KeyFinder::name() const {
  return fused_ ? "keys of every row and the first of them, on the device"
                : "keys of every row, on the device";
}

void KeyFinder::take_queries(gpu::Queue& queue, MatrixView queries) {
  queries_.rows.reset();  // first: the limit counts one batch of them
  queries_ = copied_rows(device_, queue, queries);
}

void KeyFinder::bring_rows(gpu::Queue& queue, MatrixView rows) {
  coming_ = copied_rows(device_, queue, rows);
}

void KeyFinder::use_rows(gpu::Queue& /*queue*/) { rows_ = std::move(coming_); }

void KeyFinder::drop_rows() {
  rows_.rows.reset();
  coming_.rows.reset();
}

void KeyFinder::write_limits(Range /*queries*/, std::span<const double> thresholds,
                             std::byte* limits) const {
  std::memcpy(limits, thresholds.data(), thresholds.size_bytes());
}

KeyVectors KeyFinder::queries_of(const Block& block) const {
  return {queries_, search_.queries, block.queries.begin, block.queries.size()};
}

KeyVectors KeyFinder::rows_of(const Block& block) const {
  return {rows_, search_.rows, block.rows.begin, block.rows.size()};
}

void KeyFinder::find(gpu::Queue& queue, const Block& block, const gpu::Buffer& limits,
                     const PairList& found) const {
  if (!fused_) return step_.close(queue, queries_of(block), rows_of(block), limits, found);
  const std::int64_t parts =
      row_parts_of(block, divide_up(block.queries.size(), kKeySide), most_found(), found.most);
  step_.first(queue, queries_of(block), rows_of(block), limits, search_.first_of_any, parts, found);
}

void KeyFinder::bounds(gpu::Queue& queue, const Block& block, const gpu::Buffer& /*terms*/,
                       const gpu::Buffer& found) const {
  step_.bounds(queue, queries_of(block), rows_of(block), found);
}

}  // namespace nearfield
