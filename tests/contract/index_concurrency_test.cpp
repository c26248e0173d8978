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

// Of a type, and as many columns: bytes are searched by tiles while the next are put beside them,
// from as many rows on as are 1 KiB.
template <class Number>
struct Vectors;
template <>
struct Vectors<float> {
  static IndexSpec spec() { return {.cols = 1}; }
};
template <>
struct Vectors<std::int8_t> {
  static IndexSpec spec() { return {.dtype = DType::i8, .cols = 4}; }
};
template <>
struct Vectors<std::uint8_t> {
  static IndexSpec spec() { return {.dtype = DType::u8, .cols = 64}; }
};

template <class Number>
std::vector<Number> numbers(std::int64_t rows, Number number) {
  return std::vector<Number>(static_cast<std::size_t>(rows * Vectors<Number>::spec().cols), number);
}

template <class Number>
MatrixView view(const std::vector<Number>& numbers) {
  const std::int64_t cols = Vectors<Number>::spec().cols;
  return {numbers.data(), std::ssize(numbers) / cols, cols};
}

// The vectors of a group are always written by one call, and all with the same number.
template <class Number>
void write_group(Index& index, std::int64_t group, Number number) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < kOfAGroup; ++i) ids.push_back(group * kOfAGroup + i);
  const std::vector<Number> all = numbers(kOfAGroup, number);
  index.upsert(view(all), ids);
}

void remove_group(Index& index, std::int64_t group) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < kOfAGroup; ++i) ids.push_back(group * kOfAGroup + i);
  EXPECT_EQ(index.remove(ids), kOfAGroup);
}

// How many vectors it saw.
template <class Number>
std::int64_t expect_whole_groups(const Index& index) {
  const std::vector<Number> zero = numbers<Number>(1, 0);
  const Neighbors found = index.search(view(zero), {.k = 2 * kGroups * kOfAGroup}, {.threads = 1});
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
template <class Number>
void look_up(const Index& index, std::int64_t group) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < kOfAGroup; ++i) ids.push_back(group * kOfAGroup + i);
  const std::vector<Number> zero = numbers<Number>(1, 0);
  const MatrixView query = view(zero);
  const SearchOptions only{.k = kOfAGroup, .filter = {IdFilter::Kind::only, ids}};
  const std::int64_t found = index.search(query, only, {.threads = 1}).counts[0];
  EXPECT_TRUE(found == 0 || found == kOfAGroup) << found;
  const SearchOptions without{.k = kGroups * kOfAGroup, .filter = {IdFilter::Kind::without, ids}};
  EXPECT_GE(index.search(query, without, {.threads = 1}).counts[0], (kGroups - 2) * kOfAGroup);
  index.stats();
  try {
    const Matrix rows = index.get(ids);
    for (std::int64_t i = 1; i < kOfAGroup; ++i) {
      EXPECT_EQ(*reinterpret_cast<const Number*>(rows.row(i)),
                *reinterpret_cast<const Number*>(rows.row(0)));
    }
  } catch (const Error&) {  // was removed
  }
}

template <class Number>
void expect_readers_see_whole_calls() {
  const test::TempFolder folder;
  Index index(Vectors<Number>::spec());
  for (std::int64_t group = 0; group < kGroups; ++group) write_group<Number>(index, group, 1);

  std::atomic<bool> writing = true;
  std::atomic<std::int64_t> searches = 0;
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 3; ++reader) {
    readers.emplace_back([&] {
      while (writing || searches < 10) {
        const std::int64_t seen = expect_whole_groups<Number>(index);
        EXPECT_GE(seen, (kGroups - 1) * kOfAGroup);
        EXPECT_LE(index.size(), kGroups * kOfAGroup);
        look_up<Number>(index, seen % kGroups);
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
    write_group(index, group, static_cast<Number>(round));
    if (round % 25 == 0) index.compact();
    if (round % 50 == 0) {
      index.save(folder.path("index"));
      expect_whole_groups<Number>(Index::open(folder.path("index")));
    }
  }
  writing = false;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(expect_whole_groups<Number>(index), kGroups * kOfAGroup);
  EXPECT_GE(searches, 10);
}

TEST(IndexConcurrency, ReadersSeeWholeCalls) {
  const test::SmallParts small;
  expect_readers_see_whole_calls<float>();
}

TEST(IndexConcurrency, ReadersOfBytesSeeWholeCalls) {
  expect_readers_see_whole_calls<std::int8_t>();  // in parts that hold all of them, and more
  expect_readers_see_whole_calls<std::uint8_t>();
}

// The same of an index with tables, which the writer makes while they are read. All codes of a
// group are the same, and those of each round others.
std::uint64_t code_of(std::int64_t round) {
  return static_cast<std::uint64_t>(round + 1) * 0x9e3779b97f4a7c15;
}

void write_codes(Index& index, std::int64_t group, std::int64_t round) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < kOfAGroup; ++i) ids.push_back(group * kOfAGroup + i);
  const std::vector<std::uint64_t> codes(kOfAGroup, code_of(round));
  index.upsert(MatrixView(codes.data(), DType::bits, kOfAGroup, 64), ids);
}

// Whether the codes of a round are there.
bool finds_codes(const Index& index, std::int64_t round) {
  const std::uint64_t code = code_of(round);
  const Ranges found =
      index.within(MatrixView(&code, DType::bits, 1, 64), {.radius = 0}, {.threads = 1});
  const std::int64_t count = std::ssize(found.ids);
  EXPECT_TRUE(count == 0 || count == kOfAGroup) << count;
  return count > 0;
}

// All rows, and no query was left to a scan: the plan would have a note.
void expect_looked_up(const Index& index, std::int64_t round) {
  const std::uint64_t code = code_of(round);
  const Ranges found = index.within(MatrixView(&code, DType::bits, 1, 64), {.radius = 0});
  EXPECT_EQ(found.stats.plan.filter.find("multi-index hashing"), 0U) << found.stats.plan.filter;
  EXPECT_EQ(found.stats.plan.note, "");
}

TEST(IndexConcurrency, ReadersOfTablesSeeWholeCalls) {
  constexpr std::int64_t kRounds = 400;
  const test::SmallParts small;
  const test::TempFolder folder;
  Index index({.family = "mih", .dtype = DType::bits, .cols = 64, .metric = Metric::hamming});
  for (std::int64_t round = 0; round < kGroups; ++round) write_codes(index, round, round);

  std::atomic<std::int64_t> written = kGroups - 1;  // the last round
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 3; ++reader) {
    readers.emplace_back([&] {
      while (written < kRounds) {
        const std::int64_t last = written;
        const bool there = finds_codes(index, last);
        EXPECT_TRUE(there || written >= last + kGroups - 1) << last;
        EXPECT_FALSE(finds_codes(index, last - 2 * kGroups)) << last;
      }
    });
  }
  for (std::int64_t round = kGroups; round <= kRounds; ++round) {
    write_codes(index, round % kGroups, round);
    written = round;
    if (round % 50 == 0) index.compact();
    if (round % 100 == 0) {
      index.save(folder.path("index"));
      const Index opened = Index::open(folder.path("index"));
      EXPECT_TRUE(finds_codes(opened, round));
      expect_looked_up(opened, round);
    }
  }
  for (std::thread& reader : readers) reader.join();
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
