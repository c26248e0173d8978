#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nearfield/colmap.hpp>

#include "colmap_scratch.hpp"
#include "temp_folder.hpp"
#include "tests/oracle/in_child.hpp"
#include "tests/unit/expect_error.hpp"

namespace nearfield {
namespace {

using test::expect_error;
using test::kColmap38;
using test::kColmap42;
using test::kColmapTables;
using test::make_database;
using test::Scratch;
using test::TempFolder;

// Four images, whose ids have gaps, and which were not added in their order.
constexpr const char* kFourImages =
    "INSERT INTO images VALUES(7, 'b.jpg', 1), (3, 'a.jpg', 1), (12, 'c.jpg', 1), (5, 'd.jpg', 1);";

// Of 3.8: ids 3 and 7 have descriptors of 4 values, 5 has none, and of 12 there is no row.
const std::string kOld = kColmap38 + kFourImages +
                         "INSERT INTO descriptors VALUES(7, 3, 4, x'000102030405060708090A0B'), "
                         "(3, 2, 4, x'FFFEFDFC80818283'), (5, 0, 128, NULL);";
const std::string kNew = kColmap42 + kFourImages +
                         "INSERT INTO descriptors VALUES(7, 0, 3, 4, x'000102030405060708090A0B'), "
                         "(3, 0, 2, 4, x'FFFEFDFC80818283'), (5, 0, 0, 128, x'');";

Pairs pairs_of(std::vector<std::int64_t> first, std::vector<std::int64_t> second) {
  Pairs pairs;
  pairs.first = std::move(first);
  pairs.second = std::move(second);
  return pairs;
}

void write_and_commit(ColmapDatabase& database, ImagePair pair, const Pairs& matches) {
  database.begin();
  database.write(pair, matches);
  database.commit();
}

std::string all_matches(const std::string& path) {
  return Scratch(path).run("SELECT pair_id, rows, cols, hex(data) FROM matches ORDER BY pair_id");
}

class BothSchemas : public testing::TestWithParam<const std::string*> {
 protected:
  TempFolder folder;
  std::string path = make_database(folder, *GetParam());
};

TEST_P(BothSchemas, ImagesAreInTheOrderOfTheirIds) {
  const ColmapDatabase database(path);
  ASSERT_EQ(database.images(), 4);
  const std::vector<std::string> names{"a.jpg", "d.jpg", "b.jpg", "c.jpg"};
  const std::vector<std::int64_t> ids{3, 5, 7, 12};
  const std::vector<std::int64_t> rows{2, 0, 3, 0};
  for (std::int64_t image = 0; image < 4; ++image) {
    const auto i = static_cast<std::size_t>(image);
    EXPECT_EQ(database.name(image), names[i]);
    EXPECT_EQ(database.image_id(image), ids[i]);
    EXPECT_EQ(database.rows(image), rows[i]);
  }
  EXPECT_EQ(database.cols(), 4);
  EXPECT_EQ(database.dtype(), DType::u8);
}

TEST_P(BothSchemas, DescriptorsAreTheBytesOfTheBlob) {
  const ColmapDatabase database(path);
  const Matrix first = database.read(0);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(first.row(0)), 8),
            "\xFF\xFE\xFD\xFC\x80\x81\x82\x83");
  const Matrix third = database.read(2);
  ASSERT_EQ(third.rows(), 3);
  EXPECT_EQ(third.row(2)[3], std::byte{11});
  EXPECT_EQ(database.read(1).rows(), 0);
  EXPECT_EQ(database.read(3).rows(), 0);
  EXPECT_EQ(database.read(3).cols(), 4);
}

TEST_P(BothSchemas, MatchesAreWrittenAsColmapDoes) {
  ColmapDatabase database(path);
  write_and_commit(database, {0, 2}, pairs_of({1, 0}, {0, 2}));  // ids 3 and 7
  write_and_commit(database, {0, 1}, {});
  // 3 * 2147483647 + 5, and + 7; sorted by the rows of image 3.
  EXPECT_EQ(all_matches(path), "6442450946 0 2 |6442450948 2 2 00000000020000000100000000000000|");
}

TEST_P(BothSchemas, APairGivenTheOtherWayIsTheSame) {
  ColmapDatabase database(path);
  write_and_commit(database, {2, 0}, pairs_of({0, 2}, {1, 0}));
  EXPECT_EQ(all_matches(path), "6442450948 2 2 00000000020000000100000000000000|");
  EXPECT_TRUE(database.matched({0, 2}));
  EXPECT_TRUE(database.matched({2, 0}));
  EXPECT_FALSE(database.matched({0, 1}));
}

INSTANTIATE_TEST_SUITE_P(ColmapDatabase, BothSchemas, testing::Values(&kOld, &kNew),
                         [](const auto& each) { return each.param == &kOld ? "Of38" : "Of42"; });

TEST(ColmapDatabase, KnowsWhatIsLeft) {
  const TempFolder folder;
  const std::string path = make_database(
      folder,
      kNew + "INSERT INTO matches VALUES(6442450948, 0, 2, NULL), (15032385541, 0, 2, x'');");
  const ColmapDatabase database(path);
  const std::vector<ImagePair> all = exhaustive_pairs(4);
  ASSERT_EQ(all.size(), 6);
  // Ids 3 and 7 are matched, and 7 and 12, which are numbers 2 and 3.
  const std::vector<ImagePair> left{{0, 1}, {0, 3}, {1, 2}, {1, 3}};
  EXPECT_EQ(database.without_matched(all), left);
  EXPECT_EQ(database.without_matched(std::vector<ImagePair>{{3, 2}, {3, 0}}),
            (std::vector<ImagePair>{{3, 0}}));
  EXPECT_EQ(database.without_matched(std::vector<ImagePair>{{0, 1}, {2, 0}, {1, 0}, {0, 2}}),
            (std::vector<ImagePair>{{0, 1}, {1, 0}}));
}

TEST(ColmapDatabase, WhatIsNotCommittedIsNotThere) {
  const TempFolder folder;
  const std::string path = make_database(folder, kNew);
  {
    ColmapDatabase database(path);
    write_and_commit(database, {0, 1}, {});
    database.begin();
    database.write({0, 2}, pairs_of({0}, {0}));
    EXPECT_TRUE(database.matched({0, 2}));  // to itself it is
    EXPECT_FALSE(ColmapDatabase(path).matched({0, 2}));
  }
  EXPECT_TRUE(ColmapDatabase(path).matched({0, 1}));
  EXPECT_FALSE(ColmapDatabase(path).matched({0, 2}));
}

TEST(ColmapDatabase, BeginAndCommitGoTogether) {
  const TempFolder folder;
  ColmapDatabase database(make_database(folder, kNew));
  const auto invalid = ErrorCode::invalid_argument;
  expect_error([&] { database.commit(); }, invalid, {"commit", "begin"});
  expect_error([&] { database.write({0, 1}, {}); }, invalid, {"write", "begin"});
  expect_error([&] { database.clear_matches({}); }, invalid, {"clear_matches", "begin"});
  database.begin();
  expect_error([&] { database.begin(); }, invalid, {"twice"});
}

TEST(ColmapDatabase, MatchesAreReplacedOnlyOnPurpose) {
  const TempFolder folder;
  const std::string path =
      make_database(folder, kNew +
                                "INSERT INTO two_view_geometries VALUES(6442450948, 0, 2, x'', 1), "
                                "(6442450946, 0, 2, x'', 1);");
  ColmapDatabase database(path);
  const ImagePair pair{0, 2};
  // The geometry of matches that are no more there is not one of ours.
  write_and_commit(database, pair, pairs_of({0}, {0}));
  EXPECT_EQ(Scratch(path).run("SELECT pair_id FROM two_view_geometries"), "6442450946|");
  database.begin();
  expect_error([&] { database.write(pair, {}); }, ErrorCode::invalid_argument,
               {"a.jpg", "b.jpg", "already", "clear_matches"});
  database.clear_matches(std::vector<ImagePair>{pair, {1, 0}, {2, 3}});
  EXPECT_FALSE(database.matched(pair));
  database.write(pair, pairs_of({1}, {2}));
  database.commit();
  EXPECT_EQ(all_matches(path), "6442450948 1 2 0100000002000000|");
  EXPECT_EQ(Scratch(path).run("SELECT count(*) FROM two_view_geometries"), "0|");
}

TEST(ColmapDatabase, MatchesThatCannotBe) {
  const TempFolder folder;
  ColmapDatabase database(make_database(folder, kNew));
  const auto invalid = ErrorCode::invalid_argument;
  database.begin();
  const auto write = [&](ImagePair pair, const Pairs& matches) {
    return [&database, pair, matches] { database.write(pair, matches); };
  };
  expect_error(write({0, 2}, pairs_of({2}, {0})), invalid, {"row 2", "a.jpg", "has 2"});
  expect_error(write({0, 2}, pairs_of({0}, {-1})), invalid, {"row -1", "b.jpg", "has 3"});
  expect_error(write({0, 1}, pairs_of({0}, {0})), invalid, {"d.jpg", "has 0"});
  expect_error(write({0, 2}, pairs_of({0, 1}, {0})), invalid, {"2 first", "1 second"});
  expect_error(write({0, 0}, {}), invalid, {"a.jpg", "itself"});
  expect_error(write({0, 4}, {}), invalid, {"no image 4", "has 4"});
  expect_error([&] { database.name(-1); }, invalid, {"no image -1"});
  expect_error([&] { database.read(4); }, invalid, {"no image 4"});
}

TEST(ColmapDatabase, WithoutDescriptorsItHasTheWidthOfSift) {
  const TempFolder folder;
  const ColmapDatabase none(make_database(folder, kColmap42 + kFourImages));
  EXPECT_EQ(none.images(), 4);
  EXPECT_EQ(none.cols(), 128);
  EXPECT_EQ(none.read(0).cols(), 128);
  const ColmapDatabase empty(make_database(folder, kColmap38));
  EXPECT_EQ(empty.images(), 0);
  EXPECT_TRUE(empty.without_matched({}).empty());
}

// COLMAP 4 adds the column to a database of 3 behind the others, and scripts that make one often
// leave the version 0.
TEST(ColmapDatabase, ColumnsCountNotTheirOrder) {
  const TempFolder folder;
  const ColmapDatabase moved(make_database(
      folder, kOld + "ALTER TABLE descriptors ADD COLUMN type INTEGER NOT NULL DEFAULT 0; "
                     "PRAGMA user_version = 4020100;"));
  EXPECT_EQ(moved.rows(2), 3);
  const ColmapDatabase scripted(make_database(folder, kOld + "PRAGMA user_version = 0;"));
  EXPECT_EQ(scripted.rows(2), 3);
}

TEST(ColmapDatabase, AnotherProcessWrites) {
  const TempFolder folder;
  const std::string path = make_database(folder, kNew + "PRAGMA journal_mode = WAL;");
  ColmapDatabase database(path);
  Scratch other(path);
  other.run("BEGIN IMMEDIATE");
  EXPECT_EQ(database.read(2).rows(), 3);
  expect_error([&] { database.begin(); }, ErrorCode::io, {path, "locked", "another process"});
  other.run("DELETE FROM descriptors; COMMIT;");
  database.begin();
  expect_error([&] { database.read(2); }, ErrorCode::io, {"b.jpg", "12 bytes", "now have 0"});
}

TEST(ColmapDatabase, AFileThatMayOnlyBeRead) {
  const TempFolder folder;
  const std::string path = make_database(folder, kNew);
  std::filesystem::permissions(path, std::filesystem::perms(0444));
  std::filesystem::permissions(folder.path(""), std::filesystem::perms(0555));
  const auto try_to_write = [&] {
    if (::geteuid() == 0 && ::seteuid(65534) != 0) return 1;  // nothing is forbidden to root
    ColmapDatabase database(path);
    if (database.read(2).rows() != 3) return 2;
    expect_error([&] { database.begin(); }, ErrorCode::io, {path, "make it writable"});
    return testing::Test::HasFailure() ? 3 : 0;
  };
  EXPECT_EQ(in_child(try_to_write), 0);
  std::filesystem::permissions(folder.path(""), std::filesystem::perms(0755));
}

// SQLite may take such a name for an address with options in it.
TEST(ColmapDatabase, ANameIsNoAddress) {
  const TempFolder folder;
  std::filesystem::rename(make_database(folder, kNew), folder.path("file:x?mode=memory"));
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path(""));
  EXPECT_EQ(ColmapDatabase("file:x?mode=memory").images(), 4);
  std::filesystem::current_path(before);
}

TEST(ColmapDatabase, NoDatabase) {
  const TempFolder folder;
  const auto open = [](const std::string& path) { return [path] { ColmapDatabase{path}; }; };
  expect_error(open(folder.path("none.db")), ErrorCode::io, {"none.db", "No such file"});
  expect_error(open(folder.path("")), ErrorCode::io, {"a folder"});
  expect_error(open(""), ErrorCode::invalid_argument, {"empty"});
  EXPECT_EQ(folder.file_count(), 0);  // nothing was made
  const auto corrupt = ErrorCode::corrupt_file;
  const std::string text(2000, 'x');
  expect_error(open(folder.put("text", text)), corrupt, {"no SQLite", "feature_extractor"});
  expect_error(open(folder.put("page", "<html>" + text)), corrupt, {"HTML"});
  expect_error(open(folder.put("empty", "")), ErrorCode::unsupported, {"no table images"});
}

TEST(ColmapDatabase, AnotherSchema) {
  const TempFolder folder;
  const auto expect_refused = [&](const std::string& sql,
                                  std::initializer_list<std::string_view> parts) {
    const std::string path = make_database(folder, sql);
    expect_error([&] { ColmapDatabase{path}; }, ErrorCode::unsupported, parts);
  };
  for (const char* table : {"images", "descriptors", "matches", "two_view_geometries"}) {
    const std::string name = table;
    expect_refused(kNew + "DROP TABLE " + name,
                   {"no table " + name, "user_version 4020100", "COLMAP 3 and 4"});
    expect_refused(kNew + "ALTER TABLE " + name + " RENAME TO other; CREATE VIEW " + name +
                       " AS SELECT * FROM other",
                   {name + " is a view, not a table"});
    expect_refused(
        kNew + "DROP TABLE " + name + "; CREATE VIRTUAL TABLE " + name + " USING fts4(name)",
        {name + " is a virtual table"});
  }
  expect_refused(kNew + "ALTER TABLE descriptors DROP COLUMN cols", {"descriptors", "column cols"});
  expect_refused(kNew + "ALTER TABLE descriptors DROP COLUMN type",
                 {"column type", "user_version 4020100"});
  expect_refused(kNew +
                     "ALTER TABLE matches DROP COLUMN data; ALTER TABLE matches ADD COLUMN data AS "
                     "(zeroblob(rows * 8))",
                 {"matches", "column data"});
  expect_refused(kNew + "PRAGMA user_version = 5000000", {"not known", "user_version 5000000"});
  expect_refused(kNew + "PRAGMA user_version = -1", {"user_version -1"});
  for (const char* key : {"image_id INTEGER", "image_id TEXT PRIMARY KEY",
                          "image_id INTEGER, x, PRIMARY KEY(image_id, x)"}) {
    expect_refused(kNew + "DROP TABLE images; CREATE TABLE images(name TEXT, " + key + ")",
                   {"images", "PRIMARY KEY image_id"});
  }
}

TEST(ColmapDatabase, DescriptorsThatLie) {
  const TempFolder folder;
  const auto expect_error_of = [&](const std::string& values, ErrorCode code,
                                   std::initializer_list<std::string_view> parts) {
    const std::string path = make_database(
        folder, kColmap42 + kFourImages + "INSERT INTO descriptors VALUES(3, " + values + ")");
    expect_error([&] { ColmapDatabase{path}; }, code, parts);
  };
  const auto corrupt = ErrorCode::corrupt_file;
  expect_error_of("0, 2, 4, x'00'", corrupt, {"a.jpg", "2 rows x 4", "1 bytes"});
  expect_error_of("0, 2, 4, zeroblob(9)", corrupt, {"2 rows x 4", "9 bytes"});
  expect_error_of("0, -2, -4, zeroblob(8)", corrupt, {"-2 rows x -4"});
  expect_error_of("0, 4611686018427387905, 4, zeroblob(4)", corrupt, {"4611686018427387905"});
  expect_error_of("0, 1099511627777, 1, zeroblob(8)", corrupt, {"1099511627777"});
  expect_error_of("0, 1, 65537, zeroblob(65537)", corrupt, {"65537", "at most 65536"});
  expect_error_of("0, 4, 0, zeroblob(0)", corrupt, {"4 rows x 0"});
  expect_error_of("0, 0, 0, zeroblob(1)", corrupt, {"0 rows x 0", "1 bytes"});
  expect_error_of("0, 2, 4, 'as text.'", corrupt, {"type text"});
  expect_error_of("0, 2, 4, NULL", corrupt, {"type null"});
  expect_error_of("0, 2.5, 4, zeroblob(10)", corrupt, {"2.5 rows"});
  expect_error_of("0, 'two', 4, zeroblob(8)", corrupt, {"text rows"});
  const auto unsupported = ErrorCode::unsupported;
  expect_error_of("1, 2, 4, zeroblob(8)", unsupported,
                  {"a.jpg", "type 1", "ALIKED_N16ROT", "SIFT"});
  expect_error_of("99, 2, 4, zeroblob(8)", unsupported, {"type 99", "unknown"});
  expect_error_of("0, 2, 4, zeroblob(8)), (7, 0, 1, 8, zeroblob(8)", unsupported,
                  {"b.jpg", "of 8", "a.jpg", "of 4"});
}

TEST(ColmapDatabase, ImagesThatLie) {
  const TempFolder folder;
  const std::string no_checks =
      kNew + "DROP TABLE images; CREATE TABLE images(image_id INTEGER PRIMARY KEY, name);";
  for (const char* values : {"(2147483647, 'a')", "(-1, 'a')", "(1, NULL)", "(1, x'61')"}) {
    const std::string path =
        make_database(folder, no_checks + "INSERT INTO images VALUES" + values);
    expect_error([&] { ColmapDatabase{path}; }, ErrorCode::corrupt_file,
                 {"image_id", "names are text"});
  }
}

TEST(ColmapDatabase, NothingOfTheFileRuns) {
  const TempFolder folder;
  const std::string path = make_database(
      folder, kNew +
                  "CREATE TABLE ran(x); CREATE TRIGGER writes AFTER INSERT ON matches BEGIN INSERT "
                  "INTO ran VALUES(1); END; CREATE TRIGGER removes BEFORE DELETE ON "
                  "two_view_geometries BEGIN INSERT INTO ran VALUES(2); END;"
                  "INSERT INTO two_view_geometries VALUES(6442450948, 0, 2, x'', 1);");
  ColmapDatabase database(path);
  write_and_commit(database, {0, 2}, {});
  EXPECT_EQ(Scratch(path).run("SELECT count(*) FROM ran"), "0|");
}

// As a newer COLMAP may: what is asked for is not known here, and the file is not damaged.
TEST(ColmapDatabase, ASchemaThatAsksForMore) {
  const TempFolder folder;
  const std::string path = make_database(
      folder, kNew +
                  "DROP TABLE matches; CREATE TABLE matches(pair_id INTEGER PRIMARY KEY, rows, "
                  "cols, data, score REAL NOT NULL);");
  ColmapDatabase database(path);
  database.begin();
  expect_error(
      [&] {
        database.write({0, 2}, {});
      },
      ErrorCode::unsupported, {path, "NOT NULL", "matches.score", "its schema asks for more"});
}

// Pages of 512 bytes, in which the root of the table leads to its first leaf alone, again and
// again.
std::string with_one_leaf(const TempFolder& folder, const std::string& sql,
                          const std::string& table) {
  constexpr std::size_t kPage = 512;
  constexpr char kInteriorOfTable = 5;
  const std::string path = make_database(folder, "PRAGMA page_size = 512;" + sql);
  const std::string found =
      Scratch(path).run("SELECT rootpage FROM sqlite_schema WHERE name = '" + table + "'");
  std::string bytes = folder.get(std::filesystem::path(path).filename().string());
  char* const root = bytes.data() + (std::stoul(found) - 1) * kPage;
  EXPECT_EQ(root[0], kInteriorOfTable);
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(root[at]); };
  const std::size_t cells = byte(3) * 256U + byte(4);
  EXPECT_GE(cells, 2U);
  const auto cell = [&](std::size_t i) { return byte(12 + 2 * i) * 256U + byte(13 + 2 * i); };
  const std::string leaf(root + cell(0), 4);
  for (std::size_t i = 1; i < cells; ++i) leaf.copy(root + cell(i), 4);
  leaf.copy(root + 8, 4);  // of all after the last cell
  return folder.put("one_leaf.db", bytes);
}

TEST(ColmapDatabase, PagesThatLeadToEachOther) {
  const TempFolder folder;
  const auto count_to = [](int count) {
    return "WITH RECURSIVE more(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM more LIMIT " +
           std::to_string(count) + ") ";
  };
  const std::string names =
      count_to(200) + "INSERT INTO images SELECT id, 'name of an image ' || id, 1 FROM more;";
  const std::string descriptors =
      count_to(200) + "INSERT INTO descriptors SELECT id, 0, 8, 4, zeroblob(32) FROM more;";
  const std::string matches =
      count_to(200) + "INSERT INTO matches SELECT id, 4, 2, zeroblob(32) FROM more;";
  const auto corrupt = ErrorCode::corrupt_file;
  for (const char* table : {"images", "descriptors"}) {
    const std::string path = with_one_leaf(folder, kColmap42 + names + descriptors, table);
    expect_error([&] { ColmapDatabase{path}; }, corrupt,
                 {path, "table " + std::string(table), "key 1 after", "must grow"});
  }
  const ColmapDatabase database(with_one_leaf(folder, kColmap42 + names + matches, "matches"));
  expect_error([&] { database.without_matched(exhaustive_pairs(3)); }, corrupt,
               {"table matches", "key 1 after", "must grow"});
}

// Rows, an Error, or at worst other values: nothing else.
void open_and_use(const std::string& path) {
  try {
    ColmapDatabase database(path);
    for (std::int64_t image = 0; image < database.images(); ++image) database.read(image);
    database.without_matched(exhaustive_pairs(std::min<std::int64_t>(database.images(), 8)));
    database.begin();
    if (database.images() > 1 && !database.matched({0, 1})) database.write({0, 1}, {});
    database.commit();
  } catch (const Error&) {
  }
}

TEST(ColmapDatabase, AnyByteMayBeWrongAndAnyTheLast) {
  const TempFolder folder;
  const std::string path = make_database(folder, "PRAGMA page_size = 512;" + kNew);
  const std::string bytes = folder.get(std::filesystem::path(path).filename().string());
  for (std::size_t i = 0; i < bytes.size(); i += 29) {
    std::string wrong = bytes;
    wrong[i] = static_cast<char>(wrong[i] ^ (i % 2 ? 0xFF : 0x01));
    open_and_use(folder.put("wrong.db", wrong));
    std::filesystem::remove(folder.path("wrong.db-journal"));
  }
  for (std::size_t size = 0; size < bytes.size(); size += 293) {
    open_and_use(folder.put("cut.db", bytes.substr(0, size)));
    std::filesystem::remove(folder.path("cut.db-journal"));
  }
}

TEST(ImagePairList, NamesBecomeNumbers) {
  const TempFolder folder;
  const ColmapDatabase database(make_database(folder, kNew));
  const std::string path = folder.put("list",
                                      "# two a line\n\na.jpg b.jpg\n  c.jpg\ta.jpg \r\n"
                                      "b.jpg a.jpg\n#d.jpg a.jpg\nd.jpg c.jpg");
  const std::vector<ImagePair> expected{{0, 2}, {3, 0}, {1, 3}};
  EXPECT_EQ(read_image_pairs(path, database), expected);
  EXPECT_TRUE(read_image_pairs(folder.put("none", ""), database).empty());
}

TEST(ImagePairList, MistakesNameTheLine) {
  const TempFolder folder;
  const ColmapDatabase database(make_database(folder, kNew));
  const auto expect_wrong = [&](const std::string& line,
                                std::initializer_list<std::string_view> parts) {
    const std::string path = folder.put("list", "a.jpg b.jpg\n\n" + line + "\na.jpg c.jpg\n");
    expect_error([&] { read_image_pairs(path, database); }, ErrorCode::corrupt_file, parts);
  };
  expect_wrong("a.jpg", {"list:3:", "two names"});
  expect_wrong("a.jpg b.jpg c.jpg", {"list:3:", "two names"});
  expect_wrong("a.jpg x.jpg", {"list:3:", "no image x.jpg", "4"});
  expect_wrong("c.jpg c.jpg", {"list:3:", "c.jpg with itself"});
  expect_error([&] { read_image_pairs(folder.path("missing"), database); }, ErrorCode::io,
               {"missing"});
}

TEST(ImagePairList, ANameThatTwoImagesHave) {
  const TempFolder folder;
  const ColmapDatabase database(make_database(
      folder, kNew + "DROP TABLE images; CREATE TABLE images(image_id INTEGER PRIMARY KEY, name);"
                     "INSERT INTO images VALUES(3, 'a.jpg'), (5, 'b.jpg'), (7, 'a.jpg');"));
  const std::string path = folder.put("list", "a.jpg b.jpg\n");
  expect_error([&] { read_image_pairs(path, database); }, ErrorCode::corrupt_file,
               {"two images", "a.jpg"});
}

}  // namespace
}  // namespace nearfield
