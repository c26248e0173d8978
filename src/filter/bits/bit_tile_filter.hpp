#pragma once

#include <optional>

#include "filter/bits/bit_queries.hpp"
#include "filter/filter_maker.hpp"
#include "filter/rounded/tile_room.hpp"

namespace nearfield {

// Hamming by AMX: the rows of a block become bytes of 0 and 1 in cache, and the tiles multiply
// them. Knows the keys.
class BitTileFilter final : public Filter {
 public:
  // Looks at all of them. Its blocks have at most rows_at_once rows.
  BitTileFilter(const BitKernel& bits, const TileKernel& tiles, const BitTileQueries& queries,
                const Piece& rows)
      : bits_(bits), tiles_(tiles), queries_(queries), rows_(rows) {}

  // Whose bytes are at most 256 KiB; 0 if not even those of a group are.
  static std::int64_t rows_at_once(std::int64_t cols);

  // What a thread takes for a block.
  static std::int64_t scratch_bytes(std::int64_t cols);

  void survivors(const Block& block, std::span<const double> thresholds,
                 Candidates& out) const override;
  bool certified() const override { return true; }
  std::string name() const override { return name_of(tiles_); }
  static std::string name_of(const TileKernel& tiles);

 private:
  // Answers where in the scratch.
  const std::int8_t* expand(Range rows, std::byte* scratch) const;
  void run(Range queries, std::int64_t groups, const std::int8_t* bytes,
           std::span<const double> thresholds, TileRoom& room) const;

  const BitKernel& bits_;
  const TileKernel& tiles_;
  const BitTileQueries& queries_;
  Piece rows_;
};

class BitTileFilterMaker final : public FilterMaker {
 public:
  // Tiles whose queries are bytes.
  BitTileFilterMaker(const BitKernel& bits, const TileKernel& tiles) : bits_(bits), tiles_(tiles) {}

  void take_queries(const Piece& queries, const Piece& rows, int threads,
                    Monitor& monitor) override;
  TakenRows take_rows(const Piece& rows, int threads, Monitor& monitor) override;
  std::string name() const override { return BitTileFilter::name_of(tiles_); }

 private:
  const BitKernel& bits_;
  const TileKernel& tiles_;
  std::optional<BitTileQueries> queries_;
  std::optional<BitTileFilter> filter_;
};

}  // namespace nearfield
