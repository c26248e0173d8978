// The table of ids that are row numbers, made in pieces: every id is found in it.
#include <cstring>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>
#include <nearfield/context.hpp>

#include "index/id_table.hpp"
#include "index/numbered_ids.hpp"
#include "tests/unit/expect_error.hpp"

namespace nearfield {
namespace {

template <class Value>
std::vector<Value> values_of(const TensorToWrite& tensor) {
  std::vector<Value> values;
  tensor.give([&](std::span<const std::byte> bytes) {
    const std::size_t at = values.size();
    values.resize(at + bytes.size() / sizeof(Value));
    if (!bytes.empty()) std::memcpy(values.data() + at, bytes.data(), bytes.size());
  });
  return values;
}

TEST(NumberedIds, EveryIdLeadsToItsRow) {
  const Context context;
  const Monitor monitor(context, 1);
  for (const std::int64_t rows : {0, 1, 2, 3, 47, 48, 1'000, 3'071, 70'000}) {
    for (const std::int64_t at_once : {1, 7, 64, 1'000, 1 << 20}) {
      if (at_once < 64 && rows > 1'000) continue;  // all rows are looked at for each
      SCOPED_TRACE(rows);
      const NumberedIds numbered(rows, at_once, monitor);
      std::vector<TensorToWrite> tensors;
      numbered.add_to(tensors);
      ASSERT_EQ(tensors.size(), 2U);
      const auto ids = values_of<std::int64_t>(tensors[0]);
      const auto table = values_of<std::uint32_t>(tensors[1]);
      EXPECT_EQ(values_of<std::uint32_t>(tensors[1]), table);  // it is asked for twice
      ASSERT_EQ(std::ssize(ids), rows);
      ASSERT_EQ(std::ssize(table), id_table_size(rows));
      for (std::int64_t row = 0; row < rows; ++row) {
        ASSERT_EQ(ids[static_cast<std::size_t>(row)], row);
        ASSERT_EQ(find_row(table, ids, row), row) << at_once;
      }
      for (const std::int64_t other : {-1L, rows, rows + 12'345}) {
        EXPECT_EQ(find_row(table, ids, other), std::nullopt);
      }
    }
  }
}

TEST(NumberedIds, CanBeStopped) {
  const Context context;
  context.cancel.cancel();
  const Monitor monitor(context, 1);
  test::expect_error([&] { NumberedIds(1'000, 100, monitor); }, ErrorCode::cancelled, {});
}

}  // namespace
}  // namespace nearfield
