// Locality-sensitive hashing on a device: the answers of the CPU, to the bit.
#include <cstdlib>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <nearfield/index.hpp>

#include "tests/oracle/data.hpp"
#include "tests/unit/expect_error.hpp"
#include "tests/unit/io/temp_folder.hpp"

namespace nearfield {
namespace {

using test::expect_error;

Context on_lsh_device() {
  const char* const name = std::getenv("NEARFIELD_TEST_DEVICE");
  Context context;
  context.device = name != nullptr ? name : "opencl";
  return context;
}

void expect_as_on_cpu(const Index& index, MatrixView queries, const IdFilter& filter = {}) {
  for (const std::int64_t k : {1, 10, 3'000}) {
    const SearchOptions options{.k = k, .filter = filter};
    const Neighbors found = index.search(queries, options, on_lsh_device());
    const Neighbors expected = index.search(queries, options);
    EXPECT_EQ(found.ids, expected.ids);
    EXPECT_EQ(found.keys, expected.keys);
    EXPECT_EQ(found.counts, expected.counts);
    EXPECT_FALSE(found.exact);
    EXPECT_NE(found.stats.plan.filter.find("on the device"), std::string::npos)
        << found.stats.plan.filter;
    EXPECT_EQ(found.stats.pairs_verified, expected.stats.pairs_verified);
  }
  const RangeOptions near{.radius = 0.9, .filter = filter};
  const Ranges found = index.within(queries, near, on_lsh_device());
  const Ranges expected = index.within(queries, near);
  EXPECT_EQ(found.offsets, expected.offsets);
  EXPECT_EQ(found.ids, expected.ids);
}

TEST(DeviceLsh, AnswersAsTheCpu) {
  const test::TempFolder folder;
  for (const auto& [family, dtype, metric] :
       {std::tuple("lsh,tables=4,probes=6", DType::u8, Metric::sqeuclidean),
        {"lsh,tables=3,probes=9,bits=40", DType::f32, Metric::cosine},
        {"lsh,hash=gaussian,each=2,bits=8,tables=2", DType::f32, Metric::euclidean},
        {"lsh,hash=floor,bits=12,tables=3,width=300", DType::f16, Metric::sqeuclidean},
        {"lsh,hash=e8,bits=32,tables=2,width=400", DType::f64, Metric::cosine}}) {
    SCOPED_TRACE(family);
    const Matrix rows = data::make_matrix({data::Kind::gaussian, dtype, 4'096, 20, 1});
    const Matrix queries = data::make_matrix({data::Kind::gaussian, dtype, 150, 20, 2});
    Index index({.family = family, .dtype = dtype, .cols = 20, .metric = metric});
    index.add(rows);
    expect_as_on_cpu(index, queries);
    expect_as_on_cpu(index, rows.view().slice(5, 1));
    std::vector<std::int64_t> ids;
    for (std::int64_t id = 0; id < 4'096; id += 3) ids.push_back(id);
    expect_as_on_cpu(index, queries, {IdFilter::Kind::without, ids});
    index.remove(ids);
    expect_as_on_cpu(index, queries);
    index.save(folder.path("index"));
    expect_as_on_cpu(Index::open(folder.path("index")), queries);
  }
}

// All rows are in one of two buckets: more pairs than there is room for at a time.
TEST(DeviceLsh, MoreThanThereIsRoomForComesInPieces) {
  const Matrix rows = data::make_matrix({data::Kind::uniform, DType::f32, 8'192, 4, 3});
  Index index({.family = "lsh,bits=1,tables=1,probes=2", .dtype = DType::f32, .cols = 4});
  index.add(rows);
  expect_as_on_cpu(index, rows.view().slice(0, 100));
}

TEST(DeviceLsh, WhatIsNotFiniteIsNeverFound) {
  Matrix rows = data::make_matrix({data::Kind::gaussian, DType::f32, 2'048, 6, 4});
  reinterpret_cast<float*>(rows.row(3))[2] = std::numeric_limits<float>::quiet_NaN();
  reinterpret_cast<float*>(rows.row(4))[2] = std::numeric_limits<float>::infinity();
  reinterpret_cast<float*>(rows.row(5))[2] = std::numeric_limits<float>::max();
  Index index({.family = "lsh,bits=2,tables=2,probes=4", .dtype = DType::f32, .cols = 6});
  index.add(rows);
  expect_as_on_cpu(index, rows.view().slice(0, 10));
}

TEST(DeviceLsh, SaysWhatItCannotDo) {
  const test::TempFolder folder;
  const Matrix rows = data::make_matrix({data::Kind::uniform, DType::u8, 3'008, 6, 5});
  Index sorted({.family = "lsh,match=sort,tables=2", .dtype = DType::u8, .cols = 6});
  sorted.add(rows);
  const MatrixView query = rows.view().slice(0, 1);
  expect_error([&] { sorted.search(query, {.k = 1}, on_lsh_device()); }, ErrorCode::unsupported,
               {"match=table"});
  Index index({.family = "lsh,bits=2,tables=2,probes=4", .dtype = DType::u8, .cols = 6});
  index.add(rows);
  Context small = on_lsh_device();
  small.device_memory_limit = 10'000;
  expect_error([&] { index.search(query, {.k = 1}, small); }, ErrorCode::memory_limit, {"10000"});
  index.save(folder.path("lsh"));
  std::string bytes = folder.get("lsh");
  for (std::size_t i = bytes.size() - 4; i < bytes.size(); ++i) bytes[i] = '\xff';
  folder.put("lsh", bytes);
  const Index changed = Index::open(folder.path("lsh"));
  expect_error([&] { changed.search(query, {.k = 1}, on_lsh_device()); }, ErrorCode::corrupt_file,
               {"among the 3008", "build the index again"});
}

}  // namespace
}  // namespace nearfield
