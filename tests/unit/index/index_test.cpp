#include <nearfield/index.hpp>

#include <vector>

#include <gtest/gtest.h>

#include "tests/oracle/compare.hpp"
#include "tests/oracle/data.hpp"
#include "tests/oracle/oracle.hpp"
#include "tests/unit/expect_error.hpp"
#include "tests/unit/io/temp_folder.hpp"

namespace nearfield {
namespace {

using test::expect_error;
using test::TempFolder;

Matrix vectors(std::int64_t rows, std::uint64_t seed = 1) {
  return data::make_matrix({data::Kind::gaussian, DType::f32, rows, 6, seed});
}

// One part in a file, one in memory.
Index in_two_parts(const TempFolder& folder, std::int64_t saved, std::int64_t added) {
  Index index({.cols = 6});
  index.add(vectors(saved));
  index.save(folder.path("index"));
  Index opened = Index::open(folder.path("index"));
  opened.add(vectors(added, 2));
  return opened;
}

TEST(Index, ProgressOverPartsRisesToTheEnd) {
  const TempFolder folder;
  for (const auto& [saved, added] : {std::pair{5'000, 10}, {10, 5'000}}) {
    const Index index = in_two_parts(folder, saved, added);
    EXPECT_EQ(index.stats().parts, 2);
    std::vector<Progress> reports;
    Context context{.threads = 1};
    context.progress = [&](const Progress& progress) { reports.push_back(progress); };
    index.search(vectors(30, 3), {.k = 5}, context);
    ASSERT_GE(reports.size(), 2u);
    std::int64_t done = 0;
    for (const Progress& report : reports) {
      EXPECT_EQ(report.total, 30 * 5'010);
      EXPECT_GE(report.done, done);
      done = report.done;
    }
    EXPECT_EQ(done, 30 * 5'010);
  }
}

TEST(Index, ChangedNextIdLosesNothing) {
  const TempFolder folder;
  Index index({.cols = 6});
  index.add(vectors(20));
  index.save(folder.path("index"));
  std::string bytes = folder.get("index");
  const std::size_t at = bytes.find("\"next_id\":\"20\"");
  ASSERT_NE(at, std::string::npos);
  bytes[at + 11] = '1';
  Index opened = Index::open(folder.put("changed", bytes));
  expect_error([&] { opened.add(vectors(3)); }, ErrorCode::corrupt_file, {"10", "was changed"});
  EXPECT_EQ(opened.size(), 20);
}

TEST(Index, RefusesFilesOfWhatCannotBe) {
  const TempFolder folder;
  Index index({.cols = 6});
  index.add(vectors(20));
  index.save(folder.path("index"));
  struct Case {
    const char* from;
    const char* to;
    ErrorCode code;
    const char* says;
  };
  const Case cases[] = {
      {"\"format\":\"nearfield index\"", "\"format\":\"nearfield indey\"", ErrorCode::corrupt_file,
       "no index"},
      {"\"format_version\":\"1\"", "\"format_version\":\"2\"", ErrorCode::unsupported, "version 2"},
      {"\"features\":\"\"", "\"feature\": \"\"", ErrorCode::corrupt_file, "features"},
      {"\"metric\":\"sqeuclidean\"", "\"metric\":\"hamming\"    ", ErrorCode::corrupt_file, "f32"},
      {"\"metric\":\"sqeuclidean\"", "\"metric\":\"squeclidean\"", ErrorCode::corrupt_file,
       "squeclidean"},
      {"\"dtype\":\"f32\",\"family\"", "\"dtype\":\"f64\",\"family\"", ErrorCode::corrupt_file,
       "rows"},
      {"\"cols\":\"6\"", "\"cols\":\"7\"", ErrorCode::corrupt_file, "rows"},
      {"\"cols\":\"6\"", "\"cols\":\"x\"", ErrorCode::corrupt_file, "not a number"},
      {"\"id_table\":", "\"id_tablo\":", ErrorCode::corrupt_file, "id_table"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.to);
    std::string bytes = folder.get("index");
    const std::size_t at = bytes.find(c.from);
    ASSERT_NE(at, std::string::npos);
    bytes.replace(at, std::string(c.to).size(), c.to);
    const std::string path = folder.put("changed", bytes);
    expect_error([&] { Index::open(path); }, c.code, {"changed", c.says});
  }
}

}  // namespace
}  // namespace nearfield
