// Bucket tables as a tensor of an index file: of each its starts, then its rows.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/monitor.hpp"
#include "hash/bucket_table.hpp"
#include "io/tensor_file.hpp"

namespace nearfield {

// Throws corrupt_file if it is not of that type and shape. Looks at the file.
std::span<const std::uint32_t> u32_tensor(const TensorFile& file, const char* name,
                                          const std::vector<std::int64_t>& shape);

// Likewise. What the tables hold is checked as it is read.
std::vector<BucketView> stored_tables(const TensorFile& file, const char* name, std::int64_t tables,
                                      int bits, std::int64_t rows);

// make(i) makes a table each time it is written: there is one at a time.
TensorToWrite tables_to_write(const char* name, std::int64_t tables, int bits, std::int64_t rows,
                              std::function<BucketTable(std::int64_t)> make);

// Whether each bucket has rows that rise and hash to it, by the buckets of all rows. Those are as
// many as there are rows, none of them twice: so all.
bool holds_by_buckets(const BucketView& table, std::span<const std::uint32_t> buckets,
                      const Monitor& monitor);

}  // namespace nearfield
