// Both filters of bits find every row at or below a threshold, no other, and know its key.
#include "filter/bits/bit_filter.hpp"
#include "core/infinity.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include <nearfield/context.hpp>

#include "core/random.hpp"
#include "filter/bits/bit_tile_filter.hpp"
#include "tests/oracle/data.hpp"

namespace nearfield {
namespace {

double hamming(MatrixView queries, std::int64_t query, MatrixView base, std::int64_t row) {
  double count = 0;
  for (std::int64_t i = 0; i < row_bytes(DType::bits, base.cols()); ++i) {
    const auto differ = std::to_integer<unsigned>(queries.row(query)[i] ^ base.row(row)[i]);
    count += std::popcount(differ);
  }
  return count;
}

std::vector<std::unique_ptr<FilterMaker>> filters_of(Isa isa) {
  std::vector<std::unique_ptr<FilterMaker>> filters;
  filters.push_back(std::make_unique<BitFilterMaker>(bit_kernel(isa)));
  if (tile_kernel(isa).form == QueryForm::bytes) {
    filters.push_back(std::make_unique<BitTileFilterMaker>(bit_kernel(isa), tile_kernel(isa)));
  }
  return filters;
}

// Of one block, which need not be the whole of queries and rows.
void expect_exact(const Filter& filter, const Piece& queries, const Piece& base, const Block& block,
                  std::span<const double> thresholds) {
  Candidates found;
  filter.survivors(block, thresholds, found);
  ASSERT_TRUE(found.keyed());
  std::size_t next = 0;
  for (std::int64_t query = block.queries.begin; query < block.queries.end; ++query) {
    std::vector<std::uint32_t> rows;
    for (std::int64_t row = block.rows.begin; row < block.rows.end; ++row) {
      const double key = hamming(queries.view, query - queries.first, base.view, row - base.first);
      if (!(key <= thresholds[static_cast<std::size_t>(query - block.queries.begin)])) continue;
      rows.push_back(static_cast<std::uint32_t>(row - block.rows.begin));
      ASSERT_LT(next, found.keys().size());
      ASSERT_EQ(found.keys()[next++], key);
    }
    const auto got = found.rows_of(query);
    ASSERT_EQ(std::vector<std::uint32_t>(got.begin(), got.end()), rows) << "query " << query;
  }
  EXPECT_EQ(next, found.keys().size());
}

TEST(BitFilter, FindsExactlyWhatIsNear) {
  const Context context;
  Monitor monitor(context, 1);
  Random random(1);
  for (const std::int64_t bits : {1, 19, 64, 100, 512, 1000, 8192}) {
    for (const data::Kind kind : {data::Kind::gaussian, data::Kind::zeros, data::Kind::all_equal}) {
      const Matrix queries = data::make_matrix({kind, DType::bits, 45, bits, 1});
      const std::int64_t rows = std::min<std::int64_t>(BitTileFilter::rows_at_once(bits) - 2, 300);
      const Matrix base = data::make_matrix({kind, DType::bits, rows, bits, 2});
      const Piece some_queries{queries, 7};
      const Piece some_rows{base, 1000};
      const std::int64_t end = some_rows.range().end;
      const Block blocks[] = {{some_queries.range(), some_rows.range()},
                              {{9, 10}, {1016, end}},
                              {{20, 52}, {1000, 1001}},
                              {{11, 44}, {1003, end - 5}}};
      for (const Block& block : blocks) {
        std::vector<double> thresholds;
        for (std::int64_t query = block.queries.begin; query < block.queries.end; ++query) {
          const double key = hamming(queries, query - 7, base, random.below(base.rows()));
          const double choices[] = {key, key - 1, key + 0.5, kInfinity, -kInfinity, -0.5};
          thresholds.push_back(choices[random.below(6)]);
        }
        for (const Isa isa : available_isas()) {
          for (const auto& filter : filters_of(isa)) {
            SCOPED_TRACE(filter->name());
            filter->take_queries(some_queries, some_rows, 1, monitor);
            expect_exact(filter->take_rows(some_rows, 1, monitor).filter, some_queries, some_rows,
                         block, thresholds);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace nearfield
