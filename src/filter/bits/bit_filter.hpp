#pragma once

#include <optional>

#include "filter/bits/bit_queries.hpp"
#include "filter/filter_maker.hpp"

namespace nearfield {

// Counts the bits in which a query and a row differ, by the vectors of an ISA, and so knows the
// keys of hamming. Rows are read as they lie; those of a block are interleaved in cache, which
// costs as much as comparing them with four queries, and less than reading one query's rows from
// memory.
class BitFilter final : public Filter {
 public:
  // Looks at all of them.
  BitFilter(const BitKernel& kernel, const BitQueries& queries, const Piece& rows)
      : kernel_(kernel), queries_(queries), rows_(rows) {}

  // Rows that are interleaved at a time, once for all queries of a block that has no more.
  static std::int64_t rows_at_once(std::int64_t cols);

  // What a thread takes for a block.
  static std::int64_t scratch_bytes(std::int64_t cols, const Block& block);

  void survivors(const Block& block, std::span<const double> thresholds,
                 Candidates& out) const override;
  bool certified() const override { return true; }
  std::string name() const override { return "bit counts"; }

 private:
  struct Room;

  Room room_in(Candidates& out, const Block& block) const;
  void find(Range queries, const Block& block, std::span<const double> thresholds,
            Room& room) const;

  const BitKernel& kernel_;
  const BitQueries& queries_;
  Piece rows_;
};

class BitFilterMaker final : public FilterMaker {
 public:
  explicit BitFilterMaker(const BitKernel& kernel) : kernel_(kernel) {}

  void take_queries(const Piece& queries, const Piece& rows, int threads,
                    Monitor& monitor) override;
  TakenRows take_rows(const Piece& rows, int threads, Monitor& monitor) override;
  std::string name() const override { return "bit counts"; }

 private:
  const BitKernel& kernel_;
  std::optional<BitQueries> queries_;
  std::optional<BitFilter> filter_;
};

}  // namespace nearfield
