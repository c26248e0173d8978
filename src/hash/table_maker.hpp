// Makes the bucket tables of rows of packed bits: on the CPU, on devices, or on both.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <nearfield/context.hpp>
#include <nearfield/matrix.hpp>

#include "core/monitor.hpp"
#include "filter/filter.hpp"
#include "hash/bucket_table.hpp"

namespace nearfield {

class BucketStep;

class TableMaker {
 public:
  // On threads and devices that the context names. cols: of the rows.
  TableMaker(const Context& context, std::int64_t cols);
  ~TableMaker();
  TableMaker(const TableMaker&) = delete;
  TableMaker& operator=(const TableMaker&) = delete;

  // Bit i of the bucket of a row is that at the i-th of the positions. The same table, whoever
  // makes it. codes: if not null, the bucket of each row, of at most 8 bits, as a byte. Takes the
  // memory of the table and at most that of making it on the CPU.
  BucketTable make(MatrixView rows, std::span<const std::uint32_t> positions, std::uint8_t* codes,
                   const Monitor& monitor);

 private:
  BucketTable make_on_cpu(MatrixView rows, std::span<const std::uint32_t> positions,
                          std::uint8_t* codes, const Monitor& monitor) const;
  BucketTable make_in_pieces(MatrixView rows, std::span<const std::uint32_t> positions,
                             const Monitor& monitor);
  std::vector<Range> pieces_of(std::int64_t rows, int bits) const;

  int threads_;
  bool cpu_ = true;
  std::vector<std::unique_ptr<BucketStep>> devices_;
};

}  // namespace nearfield
