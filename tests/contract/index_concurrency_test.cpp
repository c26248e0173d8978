// Readers beside a writer: each search sees whole calls of the writer, or nothing of them.
#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <nearfield/error.hpp>
#include <nearfield/index.hpp>

#include "tests/unit/index/small_parts.hpp"
#include "tests/unit/io/temp_folder.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kGroups = 20;
constexpr std::int64_t kOfAGroup = 10;

// The vectors of a group are always written by one call, and all with the same number.
void write_group(Index& index, std::int64_t group, float number) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < kOfAGroup; ++i) ids.push_back(group * kOfAGroup + i);
  const std::vector<float> numbers(kOfAGroup, number);
  index.upsert(MatrixView(numbers.data(), kOfAGroup, 1), ids);
}

void remove_group(Index& index, std::int64_t group) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < kOfAGroup; ++i) ids.push_back(group * kOfAGroup + i);
  EXPECT_EQ(index.remove(ids), kOfAGroup);
}

// How many vectors it saw.
std::int64_t expect_whole_groups(const Index& index) {
  const float zero = 0;
  const Neighbors found =
      index.search(MatrixView(&zero, 1, 1), {.k = 2 * kGroups * kOfAGroup}, {.threads = 1});
  std::map<std::int64_t, std::multiset<float>> groups;
  for (std::int64_t i = 0; i < found.counts[0]; ++i) {
    const auto at = static_cast<std::size_t>(i);
    groups[found.ids[at] / kOfAGroup].insert(found.distances[at]);
  }
  for (const auto& [group, numbers] : groups) {
    EXPECT_EQ(std::ssize(numbers), kOfAGroup) << group;
    EXPECT_EQ(*numbers.begin(), *numbers.rbegin()) << group;
  }
  return found.counts[0];
}

// What looks ids up, beside a writer.
void look_up(const Index& index, std::int64_t group) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < kOfAGroup; ++i) ids.push_back(group * kOfAGroup + i);
  const float zero = 0;
  const MatrixView query(&zero, 1, 1);
  const SearchOptions only{.k = kOfAGroup, .filter = {IdFilter::Kind::only, ids}};
  const std::int64_t found = index.search(query, only, {.threads = 1}).counts[0];
  EXPECT_TRUE(found == 0 || found == kOfAGroup) << found;
  const SearchOptions without{.k = kGroups * kOfAGroup, .filter = {IdFilter::Kind::without, ids}};
  EXPECT_GE(index.search(query, without, {.threads = 1}).counts[0], (kGroups - 2) * kOfAGroup);
  index.stats();
  try {
    const Matrix rows = index.get(ids);
    for (std::int64_t i = 1; i < kOfAGroup; ++i) {
      EXPECT_EQ(*reinterpret_cast<const float*>(rows.row(i)),
                *reinterpret_cast<const float*>(rows.row(0)));
    }
  } catch (const Error&) {  // was removed
  }
}

TEST(IndexConcurrency, ReadersSeeWholeCalls) {
  const test::SmallParts small;
  const test::TempFolder folder;
  Index index({.cols = 1});
  for (std::int64_t group = 0; group < kGroups; ++group) write_group(index, group, 1);

  std::atomic<bool> writing = true;
  std::atomic<std::int64_t> searches = 0;
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 3; ++reader) {
    readers.emplace_back([&] {
      while (writing || searches < 10) {
        const std::int64_t seen = expect_whole_groups(index);
        EXPECT_GE(seen, (kGroups - 1) * kOfAGroup);
        EXPECT_LE(index.size(), kGroups * kOfAGroup);
        look_up(index, seen % kGroups);
        ++searches;
      }
    });
  }
  for (int round = 2; round < 200; ++round) {
    const std::int64_t group = round % kGroups;
    if (round % 7 == 0) {
      remove_group(index, group);
      EXPECT_FALSE(index.contains(group * kOfAGroup));
    }
    write_group(index, group, static_cast<float>(round));
    if (round % 25 == 0) index.compact();
    if (round % 50 == 0) {
      index.save(folder.path("index"));
      expect_whole_groups(Index::open(folder.path("index")));
    }
  }
  writing = false;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(expect_whole_groups(index), kGroups * kOfAGroup);
  EXPECT_GE(searches, 10);
}

// Two writers at once wait for each other, and lose nothing.
TEST(IndexConcurrency, WritersTakeTurns) {
  Index index({.cols = 1});
  const auto write = [&](std::int64_t first) {
    for (std::int64_t id = first; id < 400; id += 2) {
      const auto number = static_cast<float>(id);
      index.add(MatrixView(&number, 1, 1), std::vector{id});
      if (id % 3 == 0) index.remove(std::vector{id});
    }
  };
  std::thread other([&] { write(1); });
  write(0);
  other.join();
  std::int64_t expected = 0;
  for (std::int64_t id = 0; id < 400; ++id) {
    EXPECT_EQ(index.contains(id), id % 3 != 0) << id;
    expected += id % 3 != 0 ? 1 : 0;
  }
  EXPECT_EQ(index.size(), expected);
}

}  // namespace
}  // namespace nearfield
