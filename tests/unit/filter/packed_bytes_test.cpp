#include "filter/rounded/packed_bytes.hpp"

#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

#include "tests/oracle/data.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kPutRows = 345;

struct PackedKind {
  DType dtype;
  Metric metric;
  std::int64_t cols;
};

constexpr PackedKind kKinds[] = {{DType::u8, Metric::sqeuclidean, 21},
                                 {DType::i8, Metric::euclidean, 4},
                                 {DType::i8, Metric::inner_product, 128},
                                 {DType::u8, Metric::inner_product, 3}};

Matrix bytes_of(const PackedKind& kind) {
  return data::make_matrix({data::Kind::gaussian, kind.dtype, kPutRows, kind.cols, 1});
}

BaseRounding rounding_of(const PackedKind& kind) {
  return *choose_rounding(kind.metric, kind.dtype, kind.dtype, kind.cols, Isa::scalar);
}

void put_all(const Matrix& rows, PackedBytes& packed) {
  for (std::int64_t row = 0; row < rows.rows(); ++row) packed.put(row, rows.row(row));
}

TEST(PackedBytes, GivesBackWhatWasPut) {
  for (const PackedKind& kind : kKinds) {
    const Matrix rows = bytes_of(kind);
    PackedBytes packed(rounding_of(kind), QueryForm::bytes, kPutRows + 5);
    packed.put(7, rows.row(0));  // which is put again
    put_all(rows, packed);
    for (const std::int64_t first : {0, 1, 15, 16, 100}) {
      for (const std::int64_t count : {1, 15, 16, 17, 220}) {
        std::vector<std::byte> out(static_cast<std::size_t>(count * kind.cols));
        packed.take(first, count, out.data());
        EXPECT_EQ(std::memcmp(out.data(), rows.row(first), out.size()), 0) << first << " " << count;
      }
    }
  }
}

// To the bit, whatever form the queries have.
TEST(PackedBytes, IsWhatRoundingMakes) {
  constexpr QueryForm kForms[] = {QueryForm::bytes, QueryForm::offset_bytes, QueryForm::words};
  const Context context;
  Monitor monitor(context, 1);
  for (const PackedKind& kind : kKinds) {
    const Matrix rows = bytes_of(kind);
    const BaseRounding rounding = rounding_of(kind);
    for (const QueryForm form : kForms) {
      for (const std::int64_t more : {0, 700}) {  // full, and with room
        PackedBytes packed(rounding, form, kPutRows + more);
        put_all(rows, packed);
        const std::int64_t count = packed.searchable(kPutRows);
        EXPECT_TRUE(count == kPutRows || more > 0);
        const RoundedRows expected(rounding, form, rows.view().slice(0, count), 0, 1, monitor);
        const RoundedRows first = packed.first(count, rounding);
        const auto size = expected.tensors().values.size() - (more > 0 ? kTileBytes : 0);
        EXPECT_EQ(first.count(), count);
        EXPECT_TRUE(std::ranges::equal(first.tensors().values.first(size),
                                       expected.tensors().values.first(size)));
        EXPECT_TRUE(std::ranges::equal(first.tensors().bias, expected.tensors().bias));
        EXPECT_TRUE(std::ranges::equal(first.tensors().odd, expected.tensors().odd));
        EXPECT_EQ(first.largest_terms().loss, expected.largest_terms().loss);
        EXPECT_EQ(first.largest_terms().other, expected.largest_terms().other);
      }
    }
  }
}

// Kernels read on behind the rows that they are asked for, by up to a tile.
TEST(PackedBytes, AreSearchedWhereAllThatIsReadWasPut) {
  for (const PackedKind& kind : kKinds) {
    const PackedBytes packed(rounding_of(kind), QueryForm::bytes, 10'000);
    for (const std::int64_t rows : {0, 1, 63, 64, 127, 128, 1'000, 9'999}) {
      const std::int64_t count = packed.searchable(rows);
      EXPECT_EQ(count % 64, 0);
      EXPECT_TRUE(count == 0 || TileRows::all_bytes(count, kind.cols) <=
                                    rows / 16 * 16 * TileRows::bytes_per_row(kind.cols));
    }
    EXPECT_EQ(packed.searchable(10'000), 10'000);  // nothing is put behind them
  }
}

}  // namespace
}  // namespace nearfield
