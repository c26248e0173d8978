// Bucket tables in the memory of a device, and the rows of a query's buckets found there.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device/gpu/gpu.hpp"
#include "distance/gpu/pair_list.hpp"
#include "hash/bucket_table.hpp"

namespace nearfield {

class DeviceBuckets {
 public:
  // Copied: the queue may still have to read the tables, all of one number of rows and buckets.
  DeviceBuckets(gpu::Device& device, gpu::Queue& queue, std::span<const BucketView> tables);

  static std::int64_t bytes(std::span<const BucketView> tables);
  // Of a query: a bit for each row.
  static std::int64_t mark_bytes(std::int64_t rows) { return (rows + 31) / 32 * 4; }

  // Lists each row once that is in a bucket of a query: pairs of a query, numbered from the first,
  // and a row. buckets: of each query `probes` of each table, 32 bits, from that of `first` on;
  // marks: mark_bytes of each, of any values. wrong: 32 bits, counts what tables must not hold.
  void short_list(gpu::Queue& queue, const gpu::Buffer& buckets, std::int64_t first,
                  std::int64_t queries, std::int64_t probes, gpu::Buffer& marks,
                  const PairList& list, gpu::Buffer& wrong) const;

 private:
  struct Table {
    std::unique_ptr<gpu::Buffer> starts;
    std::unique_ptr<gpu::Buffer> rows;
  };

  std::uint32_t bucket_count_;
  std::uint32_t row_count_;
  std::vector<Table> tables_;
};

}  // namespace nearfield
