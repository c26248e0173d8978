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

  // Queries that are asked about, and rows that may be listed.
  struct Asked {
    const gpu::Buffer& buckets;  // of every query `probes` of each table, 32 bits
    std::int64_t probes;
    std::int64_t first_query;
    std::int64_t queries;
    std::int64_t first_row;
    std::int64_t rows;
    bool once = false;  // a row is listed for one query, of all that have it
  };

  // Lists each row once that is in a bucket of a query: pairs, numbered from the first of each.
  // marks: mark_bytes of each query, and where rows are listed once then of one more, of any
  // values; afterwards they say which rows a query has. wrong: 32 bits, to which is added how much
  // the tables hold that they must not.
  void short_list(gpu::Queue& queue, const Asked& asked, gpu::Buffer& marks, const PlaceList& list,
                  gpu::Buffer& wrong) const;

 private:
  struct Table {
    std::unique_ptr<gpu::Buffer> starts;
    std::unique_ptr<gpu::Buffer> rows;
  };

  std::uint32_t bucket_count_;
  std::uint32_t row_count_;
  std::vector<Table> tables_;
};

// Some rows of a query, as the kernel reads them.
struct ListPiece {
  std::uint32_t begin;  // in the lists
  std::uint32_t count;
  std::uint32_t query;  // from the first that is asked about
};

// Rows that may be listed, of all of a table.
struct ListedRows {
  std::int64_t all;
  std::int64_t first;
  std::int64_t rows;
  // A row is listed for one of so many queries, behind whose marks are those of one more; 0: for
  // each.
  std::int64_t once_for = 0;
};

// Adds to the list each row of the pieces that is not marked yet, and marks it. marks: `mark_words`
// of 32 bits a query, at least mark_bytes of the rows. The rest is as of DeviceBuckets.
void list_pieces(gpu::Queue& queue, const gpu::Buffer& lists, const gpu::Buffer& pieces,
                 std::int64_t count, const ListedRows& asked, gpu::Buffer& marks,
                 std::int64_t mark_words, const PlaceList& list, gpu::Buffer& wrong);

// Copies rows of a list, of so many bytes, to one after the other. from: where those are that may
// be listed, from byte `begin` on.
struct GatheredFrom {
  const gpu::Buffer& rows;
  std::int64_t begin;
  std::int64_t stride;
  std::int64_t bytes;
};
void gather_rows(gpu::Queue& queue, const GatheredFrom& from, const PlaceList& list,
                 std::int64_t count, gpu::Buffer& to);

}  // namespace nearfield
