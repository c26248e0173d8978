// Rows of an index in the form of the tile kernels: made by who adds, kept in its file.
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nearfield/convert.hpp>
#include <nearfield/index.hpp>
#include <nearfield/knn.hpp>

#include "tests/oracle/compare.hpp"
#include "tests/oracle/data.hpp"
#include "tests/oracle/oracle.hpp"
#include "tests/unit/expect_error.hpp"
#include "tests/unit/index/small_parts.hpp"
#include "tests/unit/io/temp_folder.hpp"

namespace nearfield {
namespace {

using test::expect_error;
using test::TempFolder;

Matrix vectors(DType dtype, std::int64_t rows, std::uint64_t seed = 1) {
  return data::make_matrix({data::Kind::gaussian, dtype, rows, 20, seed});
}

struct Kind {
  DType dtype;
  Metric metric;
};

constexpr Kind kPackedKinds[] = {
    {DType::u8, Metric::sqeuclidean},    {DType::i8, Metric::inner_product},
    {DType::u8, Metric::cosine},         {DType::f32, Metric::sqeuclidean},
    {DType::f16, Metric::inner_product}, {DType::f64, Metric::cosine}};

// Bytes that lose nothing in tiles are kept there alone.
bool packed_alone(const Kind& kind) {
  return row_bytes(kind.dtype, 1) == 1 && kind.metric != Metric::cosine;
}

bool by_tiles(const Neighbors& found) {
  return found.stats.plan.filter.find("tiles") != std::string::npos;
}

void expect_as_knn(const Index& index, const Matrix& rows, Metric metric) {
  const Matrix queries = vectors(rows.dtype(), 3, 9);
  const Neighbors expected = knn(queries, rows, {.k = 7, .metric = metric});
  const Neighbors found = index.search(queries, {.k = 7});
  EXPECT_TRUE(by_tiles(found)) << found.stats.plan.filter;
  EXPECT_EQ(found.ids, expected.ids);
  EXPECT_EQ(found.keys, expected.keys);
  EXPECT_EQ(found.distances, expected.distances);
}

TEST(PackedIndex, FewQueriesAreSearchedByTilesInMemoryAndInAFile) {
  const TempFolder folder;
  for (const Kind& kind : kPackedKinds) {
    SCOPED_TRACE(std::string(to_string(kind.dtype)) + " " + to_string(MetricSpec(kind.metric)));
    const Matrix rows = vectors(kind.dtype, 3'001);
    Index index({.dtype = kind.dtype, .cols = 20, .metric = kind.metric});
    index.add(rows.view().slice(0, 2'500));
    index.add(rows.view().slice(2'500, 501));
    expect_as_knn(index, rows, kind.metric);
    index.save(folder.path("index"));
    verify_index(folder.path("index"));
    const Index opened = Index::open(folder.path("index"));
    expect_as_knn(opened, rows, kind.metric);
    EXPECT_EQ(opened.stats().mapped, opened.stats().bytes);
    const std::int64_t copies = packed_alone(kind) ? 20 : row_bytes(kind.dtype, 20) + 20;
    EXPECT_GE(opened.stats().bytes, 3'001 * copies);
    EXPECT_LT(opened.stats().bytes, 3'100 * (copies + 8 + 4 * 2 + 5));  // ids, their table, a bias
  }
}

TEST(PackedIndex, AFileDoesNotDependOnHowItsRowsCameIn) {
  const test::SmallParts small;
  const TempFolder folder;
  const Matrix rows = vectors(DType::u8, 700);
  const auto saved = [&](std::int64_t at_a_time, const char* name) {
    Index index({.dtype = DType::u8, .cols = 20});
    for (std::int64_t row = 0; row < 700; row += at_a_time) {
      index.add(rows.view().slice(row, std::min(at_a_time, 700 - row)));
    }
    index.save(folder.path(name));
    return folder.get(name);
  };
  const std::string at_once = saved(700, "at_once");
  EXPECT_EQ(at_once, saved(1, "one"));
  EXPECT_EQ(at_once, saved(97, "some"));
  Index opened = Index::open(folder.path("at_once"));
  opened.save(folder.path("again"));
  EXPECT_EQ(at_once, folder.get("again"));
}

TEST(PackedIndex, OtherIsasSearchTheRowsAsTheyAre) {
  const Matrix rows = vectors(DType::f32, 3'000);
  Index index({.cols = 20});
  index.add(rows);
  const Matrix queries = vectors(DType::f32, 2, 9);
  const Neighbors expected = index.search(queries, {.k = 5});
  for (const Isa isa : available_isas()) {
    const Neighbors found = index.search(queries, {.k = 5}, {.isa = isa});
    EXPECT_EQ(found.ids, expected.ids) << to_string(isa);
    EXPECT_EQ(found.keys, expected.keys) << to_string(isa);
  }
}

constexpr Kind kAloneKinds[] = {{DType::u8, Metric::sqeuclidean},
                                {DType::i8, Metric::inner_product}};

// Of which none lies in a matrix: by queries, filters, types of queries and ISAs.
TEST(PackedIndex, BytesInTilesAloneAnswerAsTheirRows) {
  for (const Kind& kind : kAloneKinds) {
    const Matrix rows = vectors(kind.dtype, 5'003);
    Index index({.dtype = kind.dtype, .cols = 20, .metric = kind.metric});
    index.add(rows);
    const std::vector<std::int64_t> some{4'000, 7, 5'002, 7, 63};
    std::vector<std::int64_t> many;
    for (std::int64_t id = 0; id < 5'003; id += 3) many.push_back(id);
    const Matrix bytes = vectors(kind.dtype, 40, 9);
    const Matrix floats = vectors(DType::f32, 3, 9);
    for (const MatrixView queries : {bytes.view(), bytes.view().slice(0, 1), floats.view()}) {
      for (const std::int64_t k : {1, 200}) {
        const KnnOptions options{.k = k, .metric = kind.metric};
        const auto expect = [&](const IdFilter& filter, const RowFilter& rows_of_it) {
          KnnOptions own = options;
          own.filter = rows_of_it;
          const Neighbors expected = knn(queries, rows, own);
          for (const Isa isa : available_isas()) {
            const Neighbors found = index.search(queries, {.k = k, .filter = filter}, {.isa = isa});
            EXPECT_EQ(found.ids, expected.ids) << to_string(isa);
            EXPECT_EQ(found.keys, expected.keys) << to_string(isa);
          }
        };
        expect({}, {});
        expect({IdFilter::Kind::only, some}, RowFilter::list(some));
        expect({IdFilter::Kind::only, many}, RowFilter::list(many));
      }
    }
  }
}

TEST(PackedIndex, BytesInTilesAloneAreFoundAfterMostAreRemoved) {
  const Matrix rows = vectors(DType::u8, 3'000);
  Index index({.dtype = DType::u8, .cols = 20});
  index.add(rows);
  std::vector<std::int64_t> gone;
  std::vector<std::int64_t> left;
  for (std::int64_t id = 0; id < 3'000; ++id) (id % 100 == 1 ? left : gone).push_back(id);
  index.remove(gone);
  const Matrix queries = vectors(DType::u8, 3, 9);
  const Neighbors found = index.search(queries, {.k = 40});
  const Neighbors expected = knn(queries, rows, {.k = 40, .filter = RowFilter::list(left)});
  EXPECT_EQ(found.ids, expected.ids);
  EXPECT_EQ(found.keys, expected.keys);
  const Ranges within = index.within(queries, {.radius = 1e9});
  EXPECT_EQ(std::ssize(within.ids), 3 * std::ssize(left));
}

TEST(PackedIndex, FloatsThatHoldBytesMeetTheTiles) {
  const Matrix rows = vectors(DType::u8, 3'000);
  const Matrix bytes = vectors(DType::u8, 2, 9);
  Matrix floats(DType::f32, 2, 20);
  ASSERT_FALSE(convert_values(bytes, Rounding::none, floats));
  Index index({.dtype = DType::u8, .cols = 20});
  index.add(rows);
  const Neighbors expected = index.search(bytes, {.k = 7});
  const Neighbors found = index.search(floats, {.k = 7});
  EXPECT_EQ(found.stats.plan.filter, expected.stats.plan.filter);
  EXPECT_EQ(found.ids, expected.ids);
  EXPECT_EQ(found.keys, expected.keys);
  reinterpret_cast<float*>(floats.row(1))[4] += 0.5F;
  EXPECT_EQ(index.search(floats, {.k = 7}).keys, knn(floats, rows, {.k = 7}).keys);
}

// As knn refuses them, whatever their values are.
TEST(PackedIndex, BytesOfTheOtherSignAreRefused) {
  const Matrix zeros(DType::i8, 1, 20);
  for (const std::optional<std::int64_t> limit : {std::optional<std::int64_t>(), {1 << 30}}) {
    Index index({.dtype = DType::u8, .cols = 20});
    index.add(vectors(DType::u8, 300));
    expect_error([&] { index.search(zeros, {}, {.memory_limit = limit}); },
                 ErrorCode::invalid_argument, {"i8", "u8"});
  }
}

TEST(PackedIndex, BytesInTilesAloneAreTakenOut) {
  const TempFolder folder;
  const Matrix rows = vectors(DType::i8, 300);
  Index index({.dtype = DType::i8, .cols = 20});
  index.add(rows);
  index.save(folder.path("index"));
  EXPECT_EQ(folder.get("index").find("\"rows\""), std::string::npos);
  const Index opened = Index::open(folder.path("index"));
  const std::vector<std::int64_t> ids{299, 0, 64, 17};
  for (const Index* const one : {static_cast<const Index*>(&index), &opened}) {
    const Matrix taken = one->get(ids);
    const IndexPart part = one->parts().at(0);
    EXPECT_FALSE(part.rows->in_memory());
    Matrix all(DType::i8, 300, 20);
    part.rows->read(0, 300, all, 0);
    EXPECT_EQ(std::memcmp(all.row(0), rows.row(0), 300 * 20), 0);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      EXPECT_EQ(std::memcmp(taken.row(static_cast<std::int64_t>(i)), rows.row(ids[i]), 20), 0);
    }
  }
}

TEST(PackedIndex, RefusesPackedRowsOfWhatIsRounded) {
  const TempFolder folder;
  Index index({.dtype = DType::u8, .cols = 20});
  index.add(vectors(DType::u8, 100));
  index.save(folder.path("index"));
  std::string bytes = folder.get("index");
  const std::size_t metric = bytes.find("\"sqeuclidean\"");
  ASSERT_NE(metric, std::string::npos);
  bytes.replace(metric, 13, "\"cosine\"     ");
  const std::string path = folder.put("changed", bytes);
  expect_error([&] { Index::open(path); }, ErrorCode::corrupt_file, {"changed"});
}

TEST(PackedIndex, MetricsWithoutTilesHaveNone) {
  const TempFolder folder;
  Index index({.cols = 20, .metric = Metric::l1});
  index.add(vectors(DType::f32, 3'000));
  index.save(folder.path("index"));
  EXPECT_EQ(folder.get("index").find("packed"), std::string::npos);
  EXPECT_EQ(Index::open(folder.path("index")).search(vectors(DType::f32, 1, 9)).counts[0], 10);
}

TEST(PackedIndex, RefusesFitsThatCannotBe) {
  const TempFolder folder;
  Index index({.cols = 20});
  index.add(vectors(DType::f32, 100));
  index.save(folder.path("index"));
  const std::string whole = folder.get("index");
  const std::size_t step = whole.find("\"packed.step\":\"");
  ASSERT_NE(step, std::string::npos);
  const std::size_t begin = step + 15;
  const std::size_t length = whole.find('"', begin) - begin;
  for (const char* const text : {"nan", "inf", "0", "-1", "", "1e99", "1 "}) {
    SCOPED_TRACE(text);
    std::string bytes = whole;
    std::string padded = text;
    padded.resize(length, padded.empty() ? 'x' : ' ');
    bytes.replace(begin, length, padded);
    const std::string path = folder.put("changed", bytes);
    expect_error([&] { Index::open(path); }, ErrorCode::corrupt_file, {"changed", "packed.step"});
  }
}

TEST(PackedIndex, RefusesACentreThatIsNotFinite) {
  const TempFolder folder;
  Index index({.cols = 20});
  Matrix rows = vectors(DType::f32, 100);
  index.add(rows);
  index.save(folder.path("index"));
  std::string bytes = folder.get("index");
  // The centre is the last tensor: 20 floats at the end of the file.
  const float nan = std::numeric_limits<float>::quiet_NaN();
  bytes.replace(bytes.size() - sizeof(nan), sizeof(nan), reinterpret_cast<const char*>(&nan),
                sizeof(nan));
  const std::string path = folder.put("changed", bytes);
  expect_error([&] { Index::open(path); }, ErrorCode::corrupt_file, {"changed", "packed.centre"});
}

}  // namespace
}  // namespace nearfield
