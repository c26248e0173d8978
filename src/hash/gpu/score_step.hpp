// Scores of rows on a device: what the kernels of score_buckets.cu are given.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/checked.hpp"
#include "device/gpu/gpu.hpp"
#include "distance/gpu/pair_list.hpp"

namespace nearfield {

// Some rows of a bucket, as the kernel reads them.
struct BucketPiece {
  std::uint32_t begin;             // in the lists
  std::uint32_t count_and_weight;  // the weight in the lowest byte
  std::uint32_t query;
};

// Of a block of threads: a bucket of millions is shared by many, one of a few rows is one's own.
inline constexpr std::uint32_t kMostPieceRows = 1 << 12;

// Cuts `count` rows that begin in the lists at `begin`.
inline void add_pieces(std::uint32_t begin, std::uint32_t count, std::uint8_t weight,
                       std::uint32_t query, std::vector<BucketPiece>& pieces) {
  for (std::uint32_t done = 0; done < count; done += kMostPieceRows) {
    const std::uint32_t rows = std::min(count - done, kMostPieceRows);
    pieces.push_back({begin + done, rows << 8 | weight, query});
  }
}

// Scores of some rows for some queries, in the memory of a device.
class DeviceScores {
 public:
  // The queue is to be waited for before it ends.
  DeviceScores(gpu::Device& device, gpu::Queue& queue, std::int64_t queries, std::int64_t rows)
      : queries_(queries),
        words_(divide_up(rows, 4)),
        scores_(device.allocate(bytes(queries, rows))),
        wrong_(device.allocate(sizeof(std::uint32_t))) {
    queue.fill(*scores_, 0);
    queue.fill(*wrong_, 0);
  }

  static std::int64_t bytes(std::int64_t queries, std::int64_t rows) {
    return queries * divide_up(rows, 4) * static_cast<std::int64_t>(sizeof(std::uint32_t));
  }

  // At a time.
  std::int64_t queries() const { return queries_; }

  // Rows from `first` on. pieces: memory of the device that holds `count` of them.
  void add(gpu::Queue& queue, const gpu::Buffer& lists, const gpu::Buffer& pieces,
           std::int64_t count, std::int64_t first, std::int64_t rows) const;
  // Those that reach the threshold, numbered from the first; then all scores are 0.
  void list(gpu::Queue& queue, std::int64_t queries, int threshold, const PairList& found) const;

  // How many rows the pieces had that are not among those that are scored.
  const gpu::Buffer& wrong() const { return *wrong_; }

 private:
  std::int64_t queries_;
  std::int64_t words_;  // of a query
  std::unique_ptr<gpu::Buffer> scores_;
  std::unique_ptr<gpu::Buffer> wrong_;
};

}  // namespace nearfield
