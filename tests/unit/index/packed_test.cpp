// Rows of an index in the form of the tile kernels: made by who adds, kept in its file.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
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
    EXPECT_GE(opened.stats().bytes, 3'001 * (row_bytes(kind.dtype, 20) + 20));
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
