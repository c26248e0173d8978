// The sums of least squares on a device.
#include <algorithm>
#include <string_view>
#include <vector>

#include "code/gpu/lsq_device.hpp"
#include "core/checked.hpp"
#include "core/fail.hpp"

namespace nearfield {
namespace {

constexpr std::string_view kSumModule = "code_sums";

// Rows that are added at a time: some milliseconds, also where a device is a CPU.
constexpr std::int64_t kMostAdded = 1 << 14;

std::int64_t bytes_of_meetings(int codebooks, int codewords) {
  return std::int64_t{codebooks} * (codebooks - 1) / 2 * codewords * codewords * 4;
}

std::int64_t bytes_of_sums(const Codebooks& codebooks) {
  return std::int64_t{codebooks.count} * codebooks.codewords * (8 * codebooks.cols + 4);
}

}  // namespace

std::int64_t LsqDevice::adding_bytes(int codebooks, int codewords) {
  return std::int64_t{codebooks - 1} * codewords * codewords * 4;
}

std::int64_t LsqDevice::rows_added_at_once(const Codebooks& codebooks) const {
  const std::int64_t of_a_row = 4 * codebooks.cols + codebooks.count;
  const std::int64_t fixed =
      bytes_of_meetings(codebooks.count, codebooks.codewords) + bytes_of_sums(codebooks);
  const std::int64_t fits =
      std::min((limit_ - fixed) / of_a_row, device_.facts().largest_buffer / (4 * codebooks.cols));
  if (limit_ < fixed + of_a_row || fits < 1) {
    fail(ErrorCode::memory_limit,
         "the sums of {} codebooks of {} codewords of {} columns take {} bytes on {}, and a row "
         "{}, but the limit is {} bytes: raise it, or take fewer codebooks",
         codebooks.count, codebooks.codewords, codebooks.cols, fixed, id_, of_a_row, limit_);
  }
  return std::min(fits, kMostAdded);
}

void LsqDevice::add_up(const Codebooks& codebooks, const float* rows, std::int64_t count,
                       const std::uint8_t* codes, const Statistics& to, const Monitor& monitor) {
  tables_ = {};
  batch_ = {};
  const int m = codebooks.count;
  const int words = codebooks.codewords;
  const std::int64_t cols = codebooks.cols;
  const std::int64_t room = std::min(rows_added_at_once(codebooks), count);
  const auto some_rows = device_.allocate(room * cols * 4);
  const auto some_codes = device_.allocate(room * m);
  const auto sums = device_.allocate(std::int64_t{m} * words * cols * 8);
  const auto members = device_.allocate(std::int64_t{m} * words * 4);
  std::vector<std::unique_ptr<gpu::Buffer>> meetings;
  std::vector<std::uint32_t> met(static_cast<std::size_t>(adding_bytes(m, words) / 4));
  const gpu::WaitAtEnd wait(*queue_);
  queue_->fill(*sums, 0);
  queue_->fill(*members, 0);
  for (int first = 0; first + 1 < m; ++first) {
    meetings.push_back(device_.allocate(std::int64_t{m - 1 - first} * words * words * 4));
    queue_->fill(*meetings.back(), 0);
  }
  const auto number = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  for (std::int64_t begin = 0; begin < count; begin += room) {
    const std::int64_t size = std::min(room, count - begin);
    const auto close = [](std::int64_t bytes) { return gpu::CopiedRows{1, bytes, bytes, bytes}; };
    queue_->write(*some_rows, rows + begin * cols, close(size * cols * 4));
    queue_->write(*some_codes, codes + begin * m, close(size * m));
    queue_->run({kSumModule, "sum_rows"}, {words, m},
                {*some_rows, *some_codes, number(size), number(cols), number(m), *sums, *members});
    for (int first = 0; first + 1 < m; ++first) {
      queue_->run({kSumModule, "count_pairs"},
                  {divide_up(size, queue_->threads(kSumModule)), m - 1 - first},
                  {*some_codes, number(size), number(m), number(words), number(first),
                   *meetings[static_cast<std::size_t>(first)]});
    }
    queue_->wait();
    monitor.check();
  }
  queue_->read(*sums, to.sums);
  queue_->read(*members, to.members);
  for (int first = 0; first + 1 < m; ++first) {
    queue_->read(*meetings[static_cast<std::size_t>(first)], met.data());
    queue_->wait();
    to.use_meetings(first, met.data());
  }
}

}  // namespace nearfield
