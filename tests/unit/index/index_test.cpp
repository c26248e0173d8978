#include <nearfield/index.hpp>

#include <chrono>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "core/monitor.hpp"
#include "io/tensor_file.hpp"
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
      {"\"family_version\":\"1\"", "\"family_version\":\"2\"", ErrorCode::unsupported, "version 2"},
      {"\"family\":\"flat\"", "\"family\":\"flut\"", ErrorCode::unsupported, "flut"},
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

TEST(Index, VerifyFindsWhatOpenDoesNot) {
  const TempFolder folder;
  Index index({.cols = 6});
  index.add(vectors(20));
  index.save(folder.path("index"));
  verify_index(folder.path("index"));
  const auto changed = [&](const char* from, const char* to) {
    std::string bytes = folder.get("index");
    const std::size_t at = bytes.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    bytes.replace(at, std::string(to).size(), to);
    return folder.put("changed", bytes);
  };
  // Another metric, which opens and gives other answers.
  const std::string path = changed("\"metric\":\"sqeuclidean\"", "\"metric\":\"euclidean\"  ");
  Index::open(path);
  expect_error([&] { verify_index(path); }, ErrorCode::corrupt_file, {"changed", "header"});
}

TEST(Index, VerifyLooksEachIdUp) {
  const TempFolder folder;
  Index index({.dtype = DType::u8, .cols = 1, .metric = Metric::l1});
  const std::vector<std::uint8_t> values(100);
  index.add(MatrixView(values.data(), 100, 1));
  index.save(folder.path("index"));
  // As if it were written so: with the sums of what it holds.
  const auto rewritten = [&](const std::function<void(std::span<std::int64_t>)>& change) {
    const TensorFile file(folder.path("index"));
    const TensorEntry& ids = file.tensor("ids");
    std::vector<std::int64_t> numbers(100);
    std::memcpy(numbers.data(), file.bytes(ids).data(), file.bytes(ids).size());
    change(numbers);
    std::vector<TensorToWrite> tensors;
    for (const TensorEntry& tensor : file.header().tensors) {
      if (tensor.name.starts_with("_pad")) continue;
      const bool changes = tensor.name == "ids";
      tensors.push_back(
          tensor_in_memory(tensor.name, tensor.type, tensor.shape,
                           changes ? std::as_bytes(std::span(numbers)) : file.bytes(tensor)));
    }
    std::map<std::string, std::string> metadata = file.header().metadata;
    std::erase_if(metadata, [](const auto& entry) { return entry.first.starts_with("xxh3"); });
    const Context context;
    Monitor monitor(context, 1);
    OutputFile out(folder.path("changed"));
    write_tensors(out, std::move(tensors), std::move(metadata), monitor);
    out.commit();
    return folder.path("changed");
  };
  verify_index(rewritten([](std::span<std::int64_t>) {}));
  expect_error([&] { verify_index(rewritten([](auto ids) { ids[3] = 4; })); },
               ErrorCode::corrupt_file, {"changed", "row 3", "id 4"});
  expect_error([&] { verify_index(rewritten([](auto ids) { ids[3] = 1'000; })); },
               ErrorCode::corrupt_file, {"changed", "row 3", "id 1000"});
}

TEST(Index, ReadOnlyIsReadOnly) {
  const TempFolder folder;
  Index index({.cols = 6});
  index.add(vectors(20));
  index.save(folder.path("index"));
  OpenOptions options;
  options.read_only = true;
  Index opened = Index::open(folder.path("index"), options);
  const auto refused = [&](const auto& change) {
    expect_error(change, ErrorCode::invalid_argument, {"read only"});
  };
  refused([&] { opened.add(vectors(1)); });
  refused([&] { opened.upsert(vectors(1), std::vector<std::int64_t>{1}); });
  refused([&] { opened.remove(std::vector<std::int64_t>{1}); });
  refused([&] { opened.compact(); });
  EXPECT_EQ(opened.search(vectors(1)).counts[0], 10);
  opened.save(folder.path("copy"));
}

TEST(Index, PartsAreAllVectors) {
  const TempFolder folder;
  Index index = in_two_parts(folder, 70, 80);
  index.remove(std::vector<std::int64_t>{5, 100});
  std::vector<std::int64_t> ids;
  for (const IndexPart& part : index.parts()) {
    for (std::int64_t row = 0; row < part.rows->rows(); ++row) {
      const auto i = static_cast<std::size_t>(row);
      if (!part.live.empty() && (part.live[i / 64] >> (i % 64) & 1) == 0) continue;
      ids.push_back(part.ids[i]);
      const Matrix one = index.get(std::vector{part.ids[i]});
      EXPECT_EQ(std::memcmp(one.row(0), part.rows->in_memory()->row(row), 24), 0);
    }
  }
  EXPECT_EQ(ids, index.ids());
  EXPECT_EQ(std::ssize(ids), 148);
}

TEST(Index, CountsWhatIsNotFinite) {
  const TempFolder folder;
  Index index({.cols = 6});
  Matrix rows = vectors(200);
  for (const std::int64_t row : {0, 63, 64, 130, 199}) {
    reinterpret_cast<float*>(rows.row(row))[2] = std::numeric_limits<float>::infinity();
  }
  index.add(rows);
  EXPECT_EQ(index.stats().not_finite, 5);
  index.remove(std::vector<std::int64_t>{1, 63});
  EXPECT_EQ(index.stats().not_finite, 4);
  index.save(folder.path("index"));
  Index opened = Index::open(folder.path("index"));
  EXPECT_EQ(opened.stats().not_finite, 4);
  opened.upsert(vectors(1), std::vector<std::int64_t>{199});
  EXPECT_EQ(opened.stats().not_finite, 3);
  opened.compact();
  EXPECT_EQ(opened.stats().not_finite, 3);
  EXPECT_EQ(opened.search(vectors(1, 7), {.k = 300}).counts[0], 198 - 3);
}

TEST(Index, PartsOfWhichNothingIsLeftAreFreed) {
  const TempFolder folder;
  Index index = in_two_parts(folder, 70, 80);
  EXPECT_EQ(index.stats().parts, 2);
  std::vector<std::int64_t> first(70);
  std::iota(first.begin(), first.end(), 0);
  index.remove(first);
  EXPECT_EQ(index.stats().parts, 1);
  EXPECT_EQ(index.stats().mapped, 0);
  EXPECT_EQ(index.size(), 80);
  EXPECT_EQ(index.search(vectors(1), {.k = 200}).counts[0], 80);
}

TEST(Index, AnEmptyOneIsSavedAndVerified) {
  const TempFolder folder;
  for (const bool keys : {false, true}) {
    Index index({.cols = 6, .keys = keys});
    index.save(folder.path("index"));
    verify_index(folder.path("index"));
    EXPECT_EQ(Index::open(folder.path("index")).search(vectors(2), {.k = 3}).counts[0], 0);
  }
}

TEST(Index, ProgressOfSavingEndsAtItsTotal) {
  const TempFolder folder;
  Index index({.cols = 6});
  index.add(vectors(5'000));
  std::vector<Progress> reports;
  Context context;
  context.progress = [&](const Progress& progress) { reports.push_back(progress); };
  index.save(folder.path("index"), context);
  ASSERT_FALSE(reports.empty());
  for (const Progress& report : reports) EXPECT_LE(report.done, report.total);
  EXPECT_EQ(reports.back().done, reports.back().total);
}

// What a writer did not finish leaves nothing behind.
TEST(Index, RefusesThreadsThatThereAreNot) {
  const TempFolder folder;
  const Context wrong{.threads = -1};
  Index index({.cols = 6});
  index.add(vectors(10));
  index.save(folder.path("index"));
  const auto refused = [](const auto& call) {
    expect_error(call, ErrorCode::invalid_argument, {"threads", "-1"});
  };
  refused([&] { index.add(vectors(10), wrong); });
  refused([&] { index.search(vectors(1), {.k = 1}, wrong); });
  refused([&] { index.compact(wrong); });
  refused([&] { index.save(folder.path("other"), wrong); });
  refused([&] { verify_index(folder.path("index"), {}, wrong); });
  EXPECT_EQ(index.size(), 10);
}

TEST(Index, CancelledVectorsLeaveNoTrace) {
  Index index({.cols = 6});
  index.add(vectors(10));
  Matrix rows = vectors(20);
  reinterpret_cast<float*>(rows.row(3))[0] = std::numeric_limits<float>::quiet_NaN();
  Context cancelled;
  cancelled.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  expect_error([&] { index.add(rows, cancelled); }, ErrorCode::deadline_exceeded, {});
  index.add(vectors(20));
  EXPECT_EQ(index.stats().not_finite, 0);
  EXPECT_EQ(index.size(), 30);
}

TEST(Index, KeysLeadToRows) {
  const test::SmallParts small;
  const TempFolder folder;
  Index index({.cols = 6, .keys = true});
  std::vector<std::string> names;
  for (int i = 0; i < 500; ++i) names.push_back(std::string("key ") + std::to_string(i));
  const std::vector<std::string_view> keys(names.begin(), names.end());
  const Matrix rows = vectors(500);
  for (std::int64_t row = 0; row < 500; row += 50) {
    index.add(rows.view().slice(row, 50),
              std::span(keys).subspan(static_cast<std::size_t>(row), 50));
  }
  EXPECT_EQ(index.remove(std::span(keys).first(3)), 3);
  EXPECT_EQ(index.upsert(rows.view().slice(0, 2), std::vector{keys[2], keys[9]}), 1);
  index.save(folder.path("index"));
  verify_index(folder.path("index"));
  Index opened = Index::open(folder.path("index"));
  for (const Index* each : {&index, &opened}) {
    const std::vector<std::int64_t> ids = each->ids_of(keys);
    EXPECT_EQ(ids[0], -1);
    EXPECT_EQ(ids[2], 500);
    EXPECT_EQ(ids[9], 9);
    EXPECT_EQ(ids[499], 499);
    EXPECT_EQ(each->keys_of(std::vector{ids[9], ids[0], ids[499]}),
              (std::vector<std::string>{names[9], "", names[499]}));
    EXPECT_FALSE(each->contains(keys[1]));
    EXPECT_TRUE(each->contains(keys[2]));
    EXPECT_EQ(std::memcmp(each->get(std::vector{ids[9]}).row(0), rows.row(1), 24), 0);
  }
  opened.compact();
  EXPECT_EQ(opened.ids_of(keys), index.ids_of(keys));
  expect_error([&] { opened.add(rows.view().slice(0, 1)); }, ErrorCode::invalid_argument, {"keys"});
}

}  // namespace
}  // namespace nearfield
