#include "device/tuning_file.hpp"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/unit/expect_error.hpp"
#include "tests/unit/io/temp_folder.hpp"

namespace nearfield {
namespace {

const std::string kValid = R"({
 "device": "a card", "driver": "1.2", "nearfield": "3.4.5", "date": "2026-11-16T22:00:00Z",
 "selection": [{"queries": 1, "rows": 10, "cols": 1, "k": 3, "seconds": {"bits": [0.5, 1]}}],
 "search": [], "query_batch": []})";

std::string with(const std::string& text, const std::string& old, const std::string& other) {
  std::string changed = text;
  return changed.replace(changed.find(old), old.size(), other);
}

TEST(TuningFile, IsReadAsItIsWritten) {
  const TuningTable table{
      "a \"card\"\\",
      "driver 1.2",
      "3.4.5",
      "2026-11-16T22:00:00Z",
      {{{1, 10'000, 1, 100}, {{"bits", {0.001, 1e-9, 3}}, {"radix", {1.0 / 3}}}},
       {{32, 10'000, 1, 100}, {{"bits", {0.25}}}}},
      {{{8192, 4096, 32, 10}, {{"keys", {0.5}}, {"fused", {0.25}}}}},
      {}};
  const std::string text = format_tuning(table);
  const TuningTable read = parse_tuning("t.json", text);
  EXPECT_EQ(read.device, table.device);
  EXPECT_EQ(read.driver, table.driver);
  EXPECT_EQ(read.version, table.version);
  EXPECT_EQ(read.date, table.date);
  EXPECT_EQ(read.selection.size(), 2U);
  EXPECT_EQ(read.selection[0].shape, table.selection[0].shape);
  EXPECT_EQ(read.selection[0].timings[0].seconds, table.selection[0].timings[0].seconds);
  EXPECT_EQ(read.search[0].timings[1].name, "fused");
  EXPECT_TRUE(read.query_batch.empty());
  EXPECT_EQ(format_tuning(read), text);
}

TEST(TuningFile, TakesWholeNumbersOfSeconds) {
  EXPECT_EQ(parse_tuning("t.json", kValid).selection[0].timings[0].seconds,
            (std::vector<double>{0.5, 1}));
}

TEST(TuningFile, SaysWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "is no JSON at byte"},
      {"[]", "has a value where none is expected"},
      {"7", "has a value where none is expected"},
      {"{}", "has 0 of the 7 fields of the table"},
      {kValid + "x", "is no JSON at byte"},
      {kValid.substr(0, 120), "is no JSON at byte"},
      {with(kValid, "\"date\"", "\"day\""), "has 'day', which is not known"},
      {with(kValid, "\"date\"", "\"driver\""), "has 'driver' twice"},
      {with(kValid, "\"a card\"", "3"), "has a value where none is expected, at 'device'"},
      {with(kValid, "\"search\": []", "\"search\": {}"), "where none is expected, at 'search'"},
      {with(kValid, "\"search\": []", "\"search\": [[]]"), "where none is expected, at 'search'"},
      {with(kValid, "\"search\": []", "\"search\": [null]"), "where none is expected"},
      {with(kValid, "\"search\": []", "\"search\": [true]"), "where none is expected"},
      {with(kValid, "\"search\": [],", ""), "has 6 of the 7 fields of the table"},
      {with(kValid, "\"k\": 3, ", ""), "has 4 of the 5 fields of a point"},
      {with(kValid, "\"k\"", "\"rows\""), "has 'rows' twice"},
      {with(kValid, "\"k\"", "\"q\""), "has 'q', which is not known"},
      {with(kValid, "\"k\": 3", "\"k\": 0"), "has 0 k in 'selection'"},
      {with(kValid, "\"k\": 3", "\"k\": -3"), "has -3 in 'selection', which is not above 0"},
      {with(kValid, "\"k\": 3", "\"k\": 3.5"), "where none is expected, at 'k'"},
      {with(kValid, "\"k\": 3", "\"k\": 9223372036854775808"), "has 9223372036854775808 k"},
      {with(kValid, "\"k\": 3", "\"k\": {}"), "where none is expected, at 'k'"},
      {with(kValid, "{\"bits\": [0.5, 1]}", "{}"), "has a point without seconds"},
      {with(kValid, "{\"bits\": [0.5, 1]}", "[0.5]"), "where none is expected, at 'seconds'"},
      {with(kValid, "[0.5, 1]", "[]"), "has a candidate without seconds"},
      {with(kValid, "[0.5, 1]", "0.5"), "where none is expected"},
      {with(kValid, "[0.5, 1]", "[[0.5]]"), "where none is expected"},
      {with(kValid, "[0.5, 1]", "[0.5, 0]"), "has 0 seconds in 'selection'"},
      {with(kValid, "[0.5, 1]", "[-0.5]"), "has -0.5 seconds"},
      {with(kValid, "[0.5, 1]", "[1e-999]"), "has 0 seconds"},
      {with(kValid, "[0.5, 1]", "[1e999]"), "is no JSON at byte"},
      {with(kValid, "[0.5, 1]", "[\"1\"]"), "where none is expected"},
      {with(kValid, "[0.5, 1]", "[1], \"bits\": [2]"), "has 'bits' twice in a point"},
  };
  for (const auto& [text, says] : cases) {
    SCOPED_TRACE(text);
    test::expect_error([&text = text] { parse_tuning("t.json", text); }, ErrorCode::corrupt_file,
                       {"t.json: the tuning table ", says, "make it again by 'nearfield tune'"});
  }
}

std::string repeated(std::size_t count, const std::string& one) {
  std::string all = one;
  for (std::size_t i = 1; i < count; ++i) all += "," + one;
  return all;
}

TEST(TuningFile, HasLimits) {
  const std::string point =
      kValid.substr(kValid.find("[{") + 1, kValid.find("}]") - kValid.find("[{"));
  const auto with_points = [&](std::size_t count) {
    return with(kValid, point, repeated(count, point));
  };
  EXPECT_EQ(parse_tuning("t.json", with_points(kMostTuningPoints)).selection.size(),
            kMostTuningPoints);
  const auto refused = [](const std::string& text, const std::string& says) {
    test::expect_error([&] { parse_tuning("t.json", text); }, ErrorCode::corrupt_file, {says});
  };
  refused(with_points(kMostTuningPoints + 1), "more than 4096 points in 'selection'");
  refused(with(kValid, "[0.5, 1]", fmt::format("[{}]", repeated(kMostTuningRounds + 1, "1"))),
          "more than 64 rounds");
  std::string candidates = "{\"bits\": [1]";
  for (std::size_t i = 0; i < kMostTuningCandidates; ++i)
    candidates += fmt::format(", \"{}\": [1]", i);
  refused(with(kValid, "{\"bits\": [0.5, 1]", candidates), "more than 64 candidates");
  const std::string text(kMostTuningText + 1, 'x');
  refused(with(kValid, "a card", text), "a text of 1025 bytes");
  refused(with(kValid, "bits", text), "a text of 1025 bytes");
}

TEST(TuningFile, ThatIsTooLargeIsNotRead) {
  const test::TempFolder folder;
  const std::string path = folder.put("t.json", std::string(kMostTuningBytes + 1, ' '));
  test::expect_error([&] { read_tuning_file(path); }, ErrorCode::corrupt_file,
                     {path, "4194305 bytes", "4194304", "nearfield tune"});
  test::expect_error([&] { read_tuning_file(folder.path("none")); }, ErrorCode::io, {"none"});
  EXPECT_EQ(read_tuning_file(folder.put("good.json", kValid)).device, "a card");
}

}  // namespace
}  // namespace nearfield
