// The tables of multi-index hashing over the rows of a part: made, and as a file has them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "filter/filter.hpp"
#include "hash/bit_partition.hpp"
#include "hash/bucket_table.hpp"
#include "hash/table_maker.hpp"
#include "index/family_data.hpp"
#include "index/mih/mih_parameters.hpp"
#include "index/part.hpp"

namespace nearfield {

// Of some rows, which lie behind each other. Buckets hold numbers from the first of them.
struct MihRun {
  Range rows;
  BitPartition partition;
  std::vector<BucketTable> own;  // none of a file
  std::vector<BucketView> tables;
};

// Runs of whole words of 64 rows, so that a bitset of the others can be cut off, from row 0 on.
class MihTables final : public FamilyData {
 public:
  using Runs = std::vector<std::shared_ptr<const MihRun>>;

  explicit MihTables(Runs runs) : runs_(std::move(runs)) {}

  const Runs& runs() const { return runs_; }
  std::int64_t rows() const { return runs_.empty() ? 0 : runs_.back()->rows.end; }
  std::int64_t bytes() const override;

 private:
  Runs runs_;
};

// Tables of all those rows, of which `before` has some, or null.
std::shared_ptr<const MihTables> make_mih_tables(MatrixView rows,
                                                 const std::shared_ptr<const MihTables>& before,
                                                 const MihParameters& parameters, TableMaker& maker,
                                                 const Monitor& monitor);
// What that takes, with its making; 0 where nothing is to be made.
std::int64_t mih_bytes(const IndexSpec& spec, std::int64_t rows, const MihTables* before,
                       const MihParameters& parameters, int threads);

// A table of rows takes this while it is made, beside itself.
inline std::int64_t bytes_to_make_mih_table(std::int64_t rows, int bits, int threads) {
  return rows * static_cast<std::int64_t>(sizeof(std::uint32_t)) +
         BucketTable::bytes_to_make(rows, bits, threads);
}

}  // namespace nearfield
