#include "filter/rounded/packed_bytes.hpp"

#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

#include "tests/oracle/data.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kPutRows = 320;

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
    std::vector<std::byte> out(static_cast<std::size_t>(kind.cols));
    for (std::int64_t row = 0; row < kPutRows; ++row) {
      packed.take(row, out.data());
      EXPECT_EQ(std::memcmp(out.data(), rows.row(row), out.size()), 0) << row;
    }
  }
}

// To the bit, whatever form the queries have, and whatever form it was made for.
TEST(PackedBytes, IsWhatRoundingMakes) {
  constexpr QueryForm kForms[] = {QueryForm::bytes, QueryForm::offset_bytes, QueryForm::words};
  const Context context;
  Monitor monitor(context, 1);
  for (const PackedKind& kind : kKinds) {
    const Matrix rows = bytes_of(kind);
    const BaseRounding rounding = rounding_of(kind);
    for (const QueryForm made_for : kForms) {
      PackedBytes packed(rounding, made_for, kPutRows);
      put_all(rows, packed);
      const std::int64_t count = packed.searchable(kPutRows);
      for (const QueryForm form : kForms) {
        const RoundedRows expected(rounding, form, rows.view().slice(0, count), 0, 1, monitor);
        const RoundedRows first = packed.first(count, rounding, form);
        const auto size = expected.tensors().values.size() - kTileBytes;
        EXPECT_EQ(first.count(), count);
        EXPECT_TRUE(std::ranges::equal(first.tensors().values.first(size),
                                       expected.tensors().values.first(size)));
        EXPECT_TRUE(std::ranges::equal(first.tensors().bias, expected.tensors().bias));
        EXPECT_TRUE(std::ranges::equal(first.tensors().odd, expected.tensors().odd));
        EXPECT_EQ(first.largest_terms().loss, 0);
      }
    }
  }
}

// Kernels read on behind the rows that they are asked for, by up to a tile.
TEST(PackedBytes, AreSearchedWhereAllThatIsReadWasPut) {
  for (const PackedKind& kind : kKinds) {
    const PackedBytes packed(rounding_of(kind), QueryForm::bytes, 10'000);
    for (const std::int64_t rows : {0, 1, 63, 64, 127, 128, 1'000, 10'000}) {
      const std::int64_t count = packed.searchable(rows);
      EXPECT_EQ(count % 64, 0);
      EXPECT_TRUE(count == 0 || TileRows::all_bytes(count, kind.cols) <=
                                    rows / 16 * 16 * TileRows::bytes_per_row(kind.cols));
    }
    EXPECT_GT(packed.searchable(10'000), 9'000);
  }
}

}  // namespace
}  // namespace nearfield
