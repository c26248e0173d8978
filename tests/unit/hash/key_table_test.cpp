// Rows by keys of up to 64 bits: what is found is what a map would find.
#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include <gtest/gtest.h>
#include <nearfield/error.hpp>

#include "core/random.hpp"
#include "hash/key_table.hpp"
#include "tests/unit/expect_error.hpp"

namespace nearfield {
namespace {

using test::expect_error;

std::vector<std::uint64_t> keys_of(std::int64_t rows, int bits, std::int64_t kinds) {
  std::vector<std::uint64_t> different;
  Random random(5);
  for (std::int64_t i = 0; i < kinds; ++i) different.push_back(random.next_u64() >> (64 - bits));
  std::vector<std::uint64_t> keys;
  for (std::int64_t i = 0; i < rows; ++i) {
    keys.push_back(different[static_cast<std::size_t>(random.below(kinds))]);
  }
  return keys;
}

std::vector<std::uint32_t> rows_of(const KeyTableView& table, std::uint64_t key) {
  KeyPlace place;
  table.find({&key, 1}, {&place, 1});
  const auto rows = table.rows_of(place);
  return {rows.begin(), rows.end()};
}

TEST(KeyTable, FindsTheRowsOfAKey) {
  const Context context;
  const Monitor monitor(context, 1);
  for (const int bits : {1, 7, 20, 33, 64}) {
    for (const std::int64_t rows : {1, 70, 5'000}) {
      SCOPED_TRACE(std::to_string(bits) + " bits of " + std::to_string(rows));
      const std::vector<std::uint64_t> keys = keys_of(rows, bits, rows / 3 + 1);
      std::map<std::uint64_t, std::vector<std::uint32_t>> expected;
      for (std::size_t i = 0; i < keys.size(); ++i) {
        expected[keys[i]].push_back(static_cast<std::uint32_t>(i));
      }
      const KeyTable sorted = KeyTable::sorted(keys, bits, 3, monitor);
      const KeyTable folded = KeyTable::folded(keys, bits, 3, monitor);
      for (const auto& [key, wanted] : expected) {
        EXPECT_EQ(rows_of(sorted.view(), key), wanted);
        const std::vector<std::uint32_t> found = rows_of(folded.view(), key);
        EXPECT_TRUE(std::ranges::includes(found, wanted));
        if (bits <= folded_bits(rows, bits)) {
          EXPECT_EQ(found, wanted);
        }
      }
      if (bits == 64) {
        EXPECT_TRUE(rows_of(sorted.view(), keys[0] ^ 1).empty());
      }
    }
  }
}

TEST(KeyTable, FindsManyKeysAtATimeInAnyOrder) {
  const Context context;
  const Monitor monitor(context, 1);
  const std::vector<std::uint64_t> keys = keys_of(4'000, 40, 900);
  for (const KeyTable& table :
       {KeyTable::sorted(keys, 40, 2, monitor), KeyTable::folded(keys, 40, 2, monitor)}) {
    std::vector<KeyPlace> places(keys.size());
    table.view().find(keys, places);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto rows = table.view().rows_of(places[i]);
      EXPECT_TRUE(std::ranges::binary_search(rows, static_cast<std::uint32_t>(i))) << i;
    }
  }
}

TEST(KeyTable, BucketsThatAreWrongAreNoticed) {
  const std::vector<std::uint32_t> starts{0, 5, 2};
  const std::vector<std::uint32_t> rows{0, 1};
  const KeyTableView table(BucketView(starts, rows), 1, 1);
  expect_error([&] { rows_of(table, 0); }, ErrorCode::corrupt_file, {"bucket 0", "0 to 5 of 2"});
}

}  // namespace
}  // namespace nearfield
