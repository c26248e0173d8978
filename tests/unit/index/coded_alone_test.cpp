// Codes without vectors: an index that has dropped them answers as one that kept them and lets
// codes decide.
#include <algorithm>
#include <chrono>
#include <future>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nearfield/index.hpp>

#include "index/part.hpp"
#include "io/tensor_file.hpp"
#include "tests/oracle/data.hpp"
#include "tests/unit/expect_error.hpp"
#include "tests/unit/index/same_answers.hpp"
#include "tests/unit/index/small_parts.hpp"
#include "tests/unit/io/temp_folder.hpp"

namespace nearfield {
namespace {

using test::expect_error;
using test::expect_same_answers;
using test::TempFolder;

constexpr std::int64_t kRowsAlone = 3'000;

// Of each way to keep a code: bytes, halves of them, norms exactly and in a byte.
const std::vector<std::string> kFamiliesAlone{
    "coded,codebooks=4,iterations=2,train=1000",
    "coded,kind=opq,codebooks=7,bits=4,iterations=2,train=1000",
    "coded,kind=lsq,codebooks=3,iterations=2,rounds=1,train=1000",
    "coded,kind=rq,codebooks=2,bits=4,iterations=2,beam=2,norms=byte,train=1000"};

Matrix some_vectors(std::int64_t rows, std::uint64_t seed, DType dtype = DType::f32) {
  return data::make_matrix({data::Kind::gaussian, dtype, rows, 10, seed});
}

IndexSpec alone_spec(const std::string& family, DType dtype = DType::f32) {
  return {.family = family, .dtype = dtype, .cols = 10, .metric = Metric::sqeuclidean};
}

// One that keeps vectors, and one that does not, of which all else is the same.
class Twins {
 public:
  explicit Twins(const std::string& family)
      : kept_(alone_spec(family + ",rerank=0")), alone_(alone_spec(family + ",vectors=none")) {}

  template <class Change>
  void change(const Change& both) {
    both(kept_);
    both(alone_);
  }
  void expect_alike(MatrixView queries) const {
    const Neighbors found = alone_.search(queries, {.k = 20});
    EXPECT_FALSE(found.exact);
    expect_same_answers(found, kept_.search(queries, {.k = 20}));
    std::vector<std::int64_t> ids;
    for (std::int64_t id = 3; id < kRowsAlone; id += 5) ids.push_back(id);
    for (const auto kind : {IdFilter::Kind::only, IdFilter::Kind::without}) {
      expect_same_answers(alone_.search(queries, {.k = 9, .filter = {kind, ids}}),
                          kept_.search(queries, {.k = 9, .filter = {kind, ids}}));
    }
    const Ranges near = alone_.within(queries, {.radius = 6});
    EXPECT_FALSE(near.ids.empty());
    expect_same_answers(near, kept_.within(queries, {.radius = 6}));
  }
  Index& alone() { return alone_; }
  const Index& kept() const { return kept_; }

 private:
  Index kept_;
  Index alone_;
};

TEST(CodedAlone, AnswersAsIfVectorsWereThere) {
  const TempFolder folder;
  const Matrix rows = some_vectors(kRowsAlone, 1);
  const Matrix queries = some_vectors(12, 2);
  for (const std::string& family : kFamiliesAlone) {
    SCOPED_TRACE(family);
    Twins twins(family);
    twins.change([&](Index& index) { index.add(rows); });
    twins.expect_alike(queries);
    const Plan plan = twins.alone().search(queries, {.k = 1}).stats.plan;
    EXPECT_NE(plan.filter.find("no vectors"), std::string::npos) << plan.filter;
    EXPECT_LT(twins.alone().stats().bytes, twins.kept().stats().bytes - kRowsAlone * 40 / 2);

    // Some go and others come, in memory and behind a file.
    std::vector<std::int64_t> gone;
    for (std::int64_t id = 0; id < kRowsAlone; id += 3) gone.push_back(id);
    const std::vector<std::int64_t> again{0, 3, 5, 6};
    const auto change = [&](Index& index) {
      index.remove(gone);
      index.add(rows.view().slice(7, 90));
      index.upsert(rows.view().slice(500, 4), again);
    };
    twins.change(change);
    twins.expect_alike(queries);
    twins.change([](Index& index) { index.compact(); });
    twins.expect_alike(queries);
    twins.change([&](Index& index) {
      const std::string path = folder.path("coded");
      index.save(path);
      verify_index(path);
      index = Index::open(path);
    });
    EXPECT_EQ(folder.get("coded").find("\"rows\""), std::string::npos);
    twins.expect_alike(queries);
    twins.change(change);
    twins.expect_alike(queries);
    twins.change([](Index& index) { index.compact(); });
    twins.expect_alike(queries);
  }
}

TEST(CodedAlone, CodesMoveAsTheyAre) {
  const TempFolder folder;
  const Matrix rows = some_vectors(40'000, 3);
  for (const std::string& family : kFamiliesAlone) {
    Index index(alone_spec(family + ",vectors=none"));
    index.add(rows);
    std::vector<std::int64_t> gone;
    for (std::int64_t id = 1; id < 40'000; id += 7) gone.push_back(id);
    index.remove(gone);
    index.save(folder.path("before"));
    index.compact();
    index.save(folder.path("after"));
    EXPECT_TRUE(folder.get("before") == folder.get("after")) << family;
  }
}

TEST(CodedAlone, VectorsGoWhenThereAreEnoughToTrainOn) {
  const TempFolder folder;
  const test::SmallParts small;
  const Matrix rows = some_vectors(kRowsAlone, 4);
  const Matrix queries = some_vectors(12, 5);
  const std::vector<std::int64_t> first{17};
  Twins twins(kFamiliesAlone[0]);
  for (std::int64_t row = 0; row < 900; row += 90) {
    twins.change([&](Index& index) { index.add(rows.view().slice(row, 90)); });
  }
  EXPECT_TRUE(twins.alone().search(queries, {.k = 3}).exact);
  EXPECT_EQ(twins.alone().get(first).rows(), 1);
  twins.change([&](Index& index) {
    index.save(folder.path("few"));
    index = Index::open(folder.path("few"));
    index.add(rows.view().slice(900, 2'100));
  });
  EXPECT_FALSE(twins.alone().search(queries, {.k = 3}).exact);
  twins.change([&](Index& index) { index.compact(); });
  twins.expect_alike(queries);
  expect_error([&] { twins.alone().get(first); }, ErrorCode::unsupported,
               {"keeps codes", "vectors=none"});
  expect_error([&] { read_all(*twins.alone().parts().front().rows); }, ErrorCode::unsupported,
               {"keeps codes"});
}

TEST(CodedAlone, TrainsOnRowsThatAreThereAndThoseThatCome) {
  const Matrix rows = some_vectors(kRowsAlone, 6);
  const Matrix queries = some_vectors(12, 7);
  Twins twins(kFamiliesAlone[2]);
  twins.change([&](Index& index) {
    index.add(rows.view().slice(0, 600));
    index.add(rows.view().slice(600, 900));
    index.add(rows.view().slice(1'500, 10));
  });
  twins.expect_alike(queries);
}

TEST(CodedAlone, TrainsOnNoneThatWereRemovedBefore) {
  const Matrix rows = some_vectors(1'150, 12);
  const Matrix queries = some_vectors(12, 13);
  Index alone(alone_spec(kFamiliesAlone[0] + ",vectors=none"));
  std::vector<std::int64_t> gone;
  for (std::int64_t id = 0; id < 100; ++id) gone.push_back(id);
  alone.add(rows.view().slice(0, 900));
  alone.remove(gone);
  alone.add(rows.view().slice(900, 250));
  Index kept(alone_spec(kFamiliesAlone[0] + ",rerank=0"));
  std::vector<std::int64_t> left;
  for (std::int64_t id = 100; id < 1'150; ++id) left.push_back(id);
  kept.add(rows.view().slice(100, 1'050), left);
  expect_same_answers(alone.search(queries, {.k = 20}), kept.search(queries, {.k = 20}));
}

TEST(CodedAlone, VectorsStayWhereTooFewCanBeTrainedOn) {
  Matrix rows = some_vectors(1'200, 8);
  for (std::int64_t row = 0; row < 1'200; ++row) {
    if (row % 8 != 0) {
      reinterpret_cast<float*>(rows.row(row))[1] = std::numeric_limits<float>::quiet_NaN();
    }
  }
  Index index(alone_spec(kFamiliesAlone[0] + ",vectors=none"));
  index.add(rows);
  const Neighbors found = index.search(rows.view().slice(0, 9), {.k = 4});
  EXPECT_TRUE(found.exact);
  EXPECT_EQ(found.ids_of(0)[0], 0);
  EXPECT_EQ(found.counts[1], 0);
  EXPECT_EQ(index.get(std::vector<std::int64_t>{8}).rows(), 1);
}

// 40 bytes of each vector against 16 to 20 of its id, and 5 MB to train and encode by.
TEST(CodedAlone, VectorsThatStayAreCountedAndNotCopiedEachTime) {
  constexpr std::int64_t kMany = 400'000;
  Matrix rows(DType::f32, kMany, 10);
  std::fill_n(reinterpret_cast<float*>(rows.row(0)), kMany * 10,
              std::numeric_limits<float>::quiet_NaN());
  const MatrixView one = rows.view().slice(0, 1);
  Index index(alone_spec("coded,codebooks=4,bits=4,iterations=2,train=1000,vectors=none"));
  index.add(rows);
  const std::int64_t before = index.stats().bytes;
  // Room for twice as many takes 20 MB without vectors, and 47 with them: it is left to the next.
  index.add(one, {.memory_limit = 32 << 20});
  EXPECT_LT(index.stats().bytes, before + (1 << 20));
  expect_error([&] { index.compact({.memory_limit = 20 << 20}); }, ErrorCode::memory_limit,
               {"compacting 400001 vectors"});
  index.compact();
  index.add(one);
  const std::int64_t with_room = index.stats().bytes;
  index.add(one);
  EXPECT_EQ(index.stats().bytes, with_room);
  EXPECT_EQ(index.size(), kMany + 3);
  EXPECT_EQ(index.get(std::vector<std::int64_t>{kMany + 2}).rows(), 1);
}

TEST(CodedAlone, RowsThatAreNotFiniteAreNeverFound) {
  const TempFolder folder;
  Matrix rows = some_vectors(kRowsAlone, 9);
  reinterpret_cast<float*>(rows.row(5))[3] = std::numeric_limits<float>::quiet_NaN();
  for (const std::string& family : kFamiliesAlone) {
    Index index(alone_spec(family + ",vectors=none"));
    index.add(rows);
    index.remove(std::vector<std::int64_t>{2});
    index.compact();
    EXPECT_EQ(index.stats().not_finite, 1);
    index.save(folder.path("coded"));
    const Index opened = Index::open(folder.path("coded"));
    for (const Index* const asked : {&std::as_const(index), &opened}) {
      const Neighbors found = asked->search(rows.view().slice(4, 2), {.k = kRowsAlone});
      EXPECT_EQ(found.counts, (std::vector<std::int64_t>{kRowsAlone - 2, 0}));
      EXPECT_TRUE(std::ranges::find(found.ids, 5) == found.ids.end());
    }
  }
}

TEST(CodedAlone, KeepsToTheMemoryLimit) {
  const Matrix rows = some_vectors(101'000, 10);
  const std::string family = "coded,codebooks=4,bits=4,iterations=2,train=1000,vectors=none";
  Index index(alone_spec(family));
  index.add(rows.view().slice(0, 1'000));
  // 6.4 MB to look up ids, 1.9 of ids and their table, 4.3 to encode; with vectors 16.6 in all.
  index.add(rows.view().slice(1'000, 100'000), {.memory_limit = 14'500'000});
  EXPECT_LT(index.stats().bytes, 101'000 * 40);
  EXPECT_FALSE(index.search(rows.view().slice(0, 1), {.k = 1}).exact);
  expect_error([&] { index.add(rows, {.memory_limit = 2 << 20}); }, ErrorCode::memory_limit,
               {"add fewer"});
  EXPECT_EQ(index.size(), 101'000);
}

TEST(CodedAlone, SaysWhatItCannotDoWithoutVectors) {
  const auto make = [](const std::string& family) { return [=] { Index{alone_spec(family)}; }; };
  expect_error(make("coded,vectors=none,rerank=10"), ErrorCode::invalid_argument,
               {"rerank=10", "vectors=none", "leave one"});
  expect_error(make("coded,rerank=1,vectors=none"), ErrorCode::invalid_argument, {"rerank=1"});
  expect_error(make("coded,vectors=some"), ErrorCode::invalid_argument, {"'some'", "kept"});
  Index both(alone_spec("coded,vectors=none,rerank=0"));
  Index kept(alone_spec("coded,vectors=kept,rerank=10"));
}

TEST(CodedAlone, AFileMustHaveCodesOrVectors) {
  const TempFolder folder;
  Index index(alone_spec(kFamiliesAlone[0] + ",vectors=none"));
  index.add(some_vectors(kRowsAlone, 11));
  index.save(folder.path("coded"));
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string bytes = folder.get("coded");
    std::size_t at = bytes.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    for (; at != std::string::npos; at = bytes.find(from, at + 1))
      bytes.replace(at, from.size(), to);
    folder.put("changed", bytes);
  };
  changed("coded.codes", "coded.codez");
  expect_error([&] { Index::open(folder.path("changed")); }, ErrorCode::corrupt_file, {"changed"});
  changed("vectors=none", "vectors=kept");
  expect_error([&] { Index::open(folder.path("changed")); }, ErrorCode::corrupt_file, {"changed"});
  changed("coded_rows", "coded_cols");
  expect_error([&] { Index::open(folder.path("changed")); }, ErrorCode::unsupported,
               {"coded_cols", "newer"});
}

TEST(CodedAlone, ACodewordOfPqOutsideItsColumnsIsRefused) {
  const TempFolder folder;
  for (const std::string& family : {kFamiliesAlone[0], kFamiliesAlone[1]}) {
    SCOPED_TRACE(family);
    Index index(alone_spec(family + ",vectors=none"));
    index.add(some_vectors(kRowsAlone, 15));
    index.save(folder.path("coded"));
    const TensorFile file(folder.path("coded"));
    const auto books = file.bytes(file.tensor("coded.codebooks"));
    std::string bytes = folder.get("coded");
    const auto at =
        bytes.find(std::string_view(reinterpret_cast<const char*>(books.data()), books.size()));
    ASSERT_NE(at, std::string::npos);
    // 0.5 in the last of 10 columns, which the first codebook does not have.
    bytes[at + 10 * sizeof(float) - 1] = 0x3F;
    folder.put("changed", bytes);
    expect_error([&] { Index::open(folder.path("changed")); }, ErrorCode::corrupt_file,
                 {"changed", "coded.codebooks", "codeword 0 of codebook 0", "columns 0 to"});
  }
}

// A second or more of it, of which each question would wait for what is left.
TEST(CodedAlone, StatisticsDoNotWaitForTraining) {
  using Clock = std::chrono::steady_clock;
  const Matrix rows = some_vectors(kRowsAlone, 16);
  Index index(alone_spec("coded,kind=lsq,codebooks=4,iterations=20,train=3000"));
  const auto begin = Clock::now();
  auto added = std::async(std::launch::async, [&] { index.add(rows); });
  Clock::duration longest{};
  while (added.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
    const auto asked = Clock::now();
    EXPECT_GE(index.stats().bytes, 0);
    longest = std::max(longest, Clock::now() - asked);
  }
  added.get();
  EXPECT_LT(longest, (Clock::now() - begin) / 2);
}

TEST(CodedAlone, AWrongKIsRefusedBeforeCodesAreScanned) {
  Index index(alone_spec(kFamiliesAlone[0]));
  index.add(some_vectors(kRowsAlone, 17));
  const Matrix queries = some_vectors(12'000, 18);  // more than are re-ranked at once
  for (const std::int64_t k : {std::int64_t{-1}, std::int64_t{1} << 41}) {
    expect_error([&] { index.search(queries, {.k = k}); }, ErrorCode::invalid_argument,
                 {"k is 0 to", std::to_string(k)});
  }
}

TEST(CodedAlone, AFileHasNotBothCodesAloneAndVectors) {
  const TempFolder folder;
  Index index(alone_spec("flat", DType::u8));
  index.add(some_vectors(100, 14, DType::u8));
  index.save(folder.path("flat"));
  std::string bytes = folder.get("flat");
  const std::string says = "\"packed_rows\"";
  ASSERT_NE(bytes.find(says), std::string::npos);
  bytes.replace(bytes.find(says), says.size(), "\"coded_rows\" ");
  folder.put("changed", bytes);
  expect_error([&] { Index::open(folder.path("changed")); }, ErrorCode::corrupt_file,
               {"packed.values", "coded_rows"});
}

TEST(CodedAlone, APartWithoutVectorsGivesNone) {
  const Part part(alone_spec("coded"), 3, false);
  EXPECT_EQ(part.rows(0).cols(), 10);
  Matrix into(DType::f32, 1, 10);
  expect_error([&] { part.rows(1); }, ErrorCode::unsupported, {"keeps codes", "3 vectors"});
  expect_error([&] { part.read(0, 1, into, 0); }, ErrorCode::unsupported, {"keeps codes"});
}

}  // namespace
}  // namespace nearfield
