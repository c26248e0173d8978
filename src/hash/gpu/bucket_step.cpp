#include "hash/gpu/bucket_step.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/checked.hpp"
#include "core/fail.hpp"
#include "device/gpu/open.hpp"
#include "filter/gpu/copied_rows.hpp"

namespace nearfield {
namespace {

constexpr std::string_view kBucketModule = "bucket_table";
// As bucket_table.cu has them.
constexpr int kDigitBits = 8;
constexpr std::int64_t kDigitValues = 1 << kDigitBits;
constexpr std::int64_t kDealtRows = 4'096;
// Each goes round: enough for any device.
constexpr std::int64_t kMostBlocks = 4'096;

constexpr std::int64_t kMostPositions = 32;
constexpr std::int64_t kWord = sizeof(std::uint32_t);
constexpr std::int64_t kEntry = sizeof(std::uint64_t);

std::int64_t chunks_of_rows(std::int64_t rows) {
  return std::max<std::int64_t>(divide_up(rows, kDealtRows), 1);
}

// No work that uses it may be queued.
void make_at_least(gpu::Device& device, std::int64_t bytes, std::unique_ptr<gpu::Buffer>& buffer) {
  if (buffer != nullptr && buffer->bytes() >= bytes) return;
  buffer.reset();
  buffer = device.allocate(bytes);
}

void read_words(gpu::Queue& queue, const gpu::Buffer& from, std::int64_t count, std::uint32_t* to) {
  if (count > 0) queue.read(from, to, {1, count * kWord, count * kWord, count * kWord});
}

}  // namespace

BucketStep::BucketStep(const Context& context, std::string_view name, std::int64_t cols)
    : device_(gpu::open_device(name).device),
      limit_(context.device_memory_limit.value_or(device_.facts().memory)),
      row_bytes_(copied_row_bytes(DType::bits, cols)),
      positions_(device_.allocate(kMostPositions * kWord)),
      totals_(device_.allocate(kDigitValues * kWord)),
      queue_(device_.make_queue(context.stream)) {}

std::int64_t BucketStep::most_rows(int bits) const {
  const std::int64_t fixed =
      kWord * (bucket_starts(bits) + kMostPositions + 2 * kDigitValues) + kEntry;
  // Its values, two entries, where it is listed, and its part of the counts.
  const std::int64_t of_a_row = row_bytes_ + 2 * kEntry + 2 * kWord;
  const std::int64_t most = std::min({(limit_ - fixed) / of_a_row,
                                      device_.facts().largest_buffer / std::max(row_bytes_, kEntry),
                                      std::int64_t{std::numeric_limits<std::int32_t>::max()}});
  if (most < 1 || bucket_starts(bits) * kWord > device_.facts().largest_buffer) {
    fail(ErrorCode::memory_limit,
         "a device of {} bytes has no room for 2^{} buckets: raise its limit, or leave the device "
         "out",
         limit_, bits);
  }
  return most;
}

BucketTable BucketStep::make(MatrixView rows, std::span<const std::uint32_t> positions) {
  const auto bits = static_cast<int>(positions.size());
  const std::int64_t count = rows.rows();
  make_room(count, bits);
  const gpu::WaitAtEnd wait(*queue_);
  hold(rows);
  const auto bytes = static_cast<std::int64_t>(positions.size_bytes());
  queue_->write(*positions_, positions.data(), {1, bytes, bytes, bytes});
  const auto grid_of = [&](std::int64_t work) {
    return gpu::Grid{
        std::clamp<std::int64_t>(divide_up(work, queue_->threads(kBucketModule)), 1, kMostBlocks)};
  };
  queue_->run(
      {kBucketModule, "hash_bits"}, grid_of(count),
      {*rows_.rows, static_cast<std::uint64_t>(rows_.stride), static_cast<std::uint32_t>(count),
       *positions_, static_cast<std::uint32_t>(bits), *entries_});
  sort(count, bits);
  queue_->run(
      {kBucketModule, "list_buckets"}, grid_of(count + 1),
      {*entries_, static_cast<std::uint32_t>(count), std::uint32_t{1} << bits, *starts_, *listed_});
  return {count, bits, [&](std::uint32_t* starts, std::uint32_t* listed) {
            read_words(*queue_, *starts_, bucket_starts(bits), starts);
            read_words(*queue_, *listed_, count, listed);
            queue_->wait();
          }};
}

void BucketStep::make_room(std::int64_t rows, int bits) {
  const std::int64_t entries = std::max<std::int64_t>(rows, 1) * kEntry;
  make_at_least(device_, entries, entries_);
  make_at_least(device_, entries, sorted_);
  make_at_least(device_, chunks_of_rows(rows) * kDigitValues * kWord, counts_);
  make_at_least(device_, bucket_starts(bits) * kWord, starts_);
  make_at_least(device_, std::max<std::int64_t>(rows, 1) * kWord, listed_);
}

void BucketStep::hold(MatrixView rows) {
  const bool held = rows_.rows != nullptr && rows.rows() == held_.rows() && rows.rows() > 0 &&
                    rows.row(0) == held_.row(0);
  if (held) return;
  rows_.rows.reset();
  rows_ = copied_rows(device_, *queue_, rows);
  held_ = rows;
}

// The sorted ones are in entries_ again.
void BucketStep::sort(std::int64_t rows, int bits) {
  const std::int64_t chunks = chunks_of_rows(rows);
  const auto count = static_cast<std::uint32_t>(rows);
  for (std::uint32_t shift = 0; shift < static_cast<std::uint32_t>(bits); shift += kDigitBits) {
    queue_->run({kBucketModule, "count_digits"}, {chunks}, {*entries_, count, shift, *counts_});
    queue_->run({kBucketModule, "sum_counts"}, {kDigitValues},
                {*counts_, static_cast<std::uint32_t>(chunks), *totals_});
    queue_->run({kBucketModule, "fill_digits"}, {chunks},
                {*entries_, count, shift, *counts_, *totals_, *sorted_});
    std::swap(entries_, sorted_);
  }
}

}  // namespace nearfield
