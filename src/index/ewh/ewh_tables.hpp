// The tables of error-weighted hashing over the rows of a part: made, and as a file has them.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "core/aligned_array.hpp"
#include "filter/filter.hpp"
#include "hash/bucket_table.hpp"
#include "hash/table_maker.hpp"
#include "index/device_copies.hpp"
#include "index/ewh/ewh_choice.hpp"
#include "index/ewh/ewh_parameters.hpp"
#include "index/family_data.hpp"

namespace nearfield {

// Of some rows, which lie behind each other. Buckets hold numbers from the first of them.
struct EwhRun {
  Range rows;
  EwhShape shape;
  std::vector<std::uint32_t> positions;  // table by table
  std::vector<BucketTable> own;          // none of a file
  std::vector<BucketView> tables;
  // Where every row is scored: its bucket in each table, table by table.
  AlignedArray<std::uint8_t> own_codes;
  std::span<const std::uint8_t> codes;

  std::span<const std::uint32_t> positions_of(std::int64_t table) const {
    return std::span(positions).subspan(static_cast<std::size_t>(table * shape.bits),
                                        static_cast<std::size_t>(shape.bits));
  }
  // In each table.
  void write_query_buckets(const std::byte* query, std::int64_t cols,
                           std::vector<std::uint32_t>& buckets) const;
  // The chance that a row is found which differs in so many of the columns' bits.
  double chance(std::int64_t cols, std::int64_t differing) const;
  // What a query takes of a thread, in nanoseconds. of_rows: those of the run, of which it looks at
  // some when it is first asked.
  double cost(MatrixView of_rows) const;

  DeviceCopies copies;

 private:
  mutable std::once_flag chances_once_;
  mutable std::vector<double> chances_;
  mutable std::once_flag cost_once_;
  mutable double cost_ = 0;
};

// Runs of whole words of 64 rows, from row 0 on.
class EwhTables final : public FamilyData {
 public:
  using Runs = std::vector<std::shared_ptr<const EwhRun>>;

  explicit EwhTables(Runs runs) : runs_(std::move(runs)) {}

  const Runs& runs() const { return runs_; }
  std::int64_t rows() const { return runs_.empty() ? 0 : runs_.back()->rows.end; }
  std::int64_t bytes() const override;

 private:
  Runs runs_;
};

// Tables of all those rows, of which `before` has some, or null.
std::shared_ptr<const EwhTables> make_ewh_tables(MatrixView rows,
                                                 const std::shared_ptr<const EwhTables>& before,
                                                 const EwhParameters& parameters, TableMaker& maker,
                                                 const Monitor& monitor);
// What that takes, with its making; 0 where nothing is to be made.
std::int64_t ewh_bytes(std::int64_t rows, std::int64_t cols, const EwhTables* before,
                       const EwhParameters& parameters, int threads);

// A table of rows takes this while it is made, beside itself.
inline std::int64_t bytes_to_make_ewh_table(std::int64_t rows, int bits, int threads) {
  return rows * static_cast<std::int64_t>(sizeof(std::uint32_t)) +
         BucketTable::bytes_to_make(rows, bits, threads);
}

}  // namespace nearfield
