#include "index/pivot/gpu/kept_run.hpp"

#include <algorithm>

#include "core/fail.hpp"
#include "object/letter_signatures.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kLeastBuffer = 64;  // no device has memory of no bytes

void copy_blocks(const RowBlocks* from, Range rows, gpu::Device& device, gpu::Queue& queue,
                 std::unique_ptr<gpu::Buffer>& to) {
  const std::int64_t bytes =
      from == nullptr ? 0 : RowBlocks::bytes_for(from->block_bytes(), rows.size());
  if (to == nullptr || to->bytes() < bytes) {
    to.reset();
    to = device.allocate(std::max(bytes, kLeastBuffer));
  }
  if (bytes > 0) queue.write(*to, from->block_of(rows.begin), {1, bytes, bytes, bytes});
}

const RowBlocks* pivot_blocks(const ObjectFilter& filter) {
  return filter.table() ? &filter.table()->blocks() : nullptr;
}
const RowBlocks* signature_blocks(const ObjectFilter& filter) {
  return filter.signatures() != nullptr ? &filter.signature_rows() : nullptr;
}

}  // namespace

void KeptRun::copy(const ObjectFilter& filter, Range some, gpu::Device& device, gpu::Queue& queue) {
  rows = some;
  copy_blocks(pivot_blocks(filter), some, device, queue, blocks);
  copy_blocks(signature_blocks(filter), some, device, queue, letters);
}

void check_kept_for_device(const ObjectFilter& filter, const ObjectMetric& metric) {
  const ObjectSignatures* const signatures = filter.signatures();
  if (signatures == nullptr) return;
  if (dynamic_cast<const LetterSignatures*>(signatures) != nullptr) return;
  fail(ErrorCode::unsupported,
       "the signatures of the metric '{}' are code for the CPU: build the index with "
       "signatures=false, or leave the device out",
       metric.name());
}

std::int64_t kept_row_bytes(const ObjectFilter& filter) {
  std::int64_t bytes = 0;
  for (const RowBlocks* const blocks : {pivot_blocks(filter), signature_blocks(filter)}) {
    if (blocks != nullptr) bytes += divide_up(blocks->block_bytes(), kBoundBlock);
  }
  return bytes;
}

std::vector<Range> kept_runs(const ObjectFilter& filter, std::int64_t rows, std::int64_t most) {
  std::vector<Range> runs;
  const RowBlocks* const pivots = pivot_blocks(filter);
  const RowBlocks* const signatures = signature_blocks(filter);
  const std::int64_t of_a_file = pivots != nullptr       ? pivots->file_rows()
                                 : signatures != nullptr ? signatures->file_rows()
                                                         : 0;
  for (std::int64_t begin = 0; begin < rows;) {
    const std::int64_t end = begin < of_a_file ? of_a_file : rows;
    runs.push_back({begin, std::min(begin + most, end)});
    begin = runs.back().end;
  }
  return runs;
}

}  // namespace nearfield
