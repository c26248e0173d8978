// Codes whose ids are the numbers of rows: a file has no ids, and is an index as others are.
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nearfield/index.hpp>

#include "tests/oracle/data.hpp"
#include "tests/unit/expect_error.hpp"
#include "tests/unit/index/same_answers.hpp"
#include "tests/unit/io/temp_folder.hpp"

namespace nearfield {
namespace {

using test::expect_error;
using test::expect_same_answers;
using test::TempFolder;

constexpr std::int64_t kNumberedRows = 3'000;

Matrix numbered_vectors(std::int64_t rows, std::uint64_t seed) {
  return data::make_matrix({data::Kind::gaussian, DType::u8, rows, 10, seed});
}

Index index_of_codes() {
  Index index({.family = "coded,codebooks=4,iterations=2,train=1000,vectors=none",
               .dtype = DType::u8,
               .cols = 10,
               .metric = Metric::sqeuclidean});
  index.add(numbered_vectors(kNumberedRows, 1));
  return index;
}

bool has_ids(const TempFolder& folder, const std::string& name) {
  return folder.get(name).find("\"id_table\"") != std::string::npos;
}

void expect_alike(const Index& one, const Index& other) {
  const Matrix queries = numbered_vectors(9, 2);
  EXPECT_EQ(one.ids(), other.ids());
  for (const std::int64_t id : {-1, 0, 7, 2'999, 3'000, 3'001}) {
    EXPECT_EQ(one.contains(id), other.contains(id)) << id;
  }
  const std::vector<std::int64_t> some{0, 5, 7, 64, 2'998, 2'999};
  for (const auto kind : {IdFilter::Kind::all, IdFilter::Kind::only, IdFilter::Kind::without}) {
    const IdFilter filter{kind, some};
    expect_same_answers(one.search(queries, {.k = 20, .filter = filter}),
                        other.search(queries, {.k = 20, .filter = filter}));
    expect_same_answers(one.within(queries, {.radius = 20'000, .filter = filter}),
                        other.within(queries, {.radius = 20'000, .filter = filter}));
  }
}

TEST(NumberedCodes, AnAnswerIsTheSameWithoutIdsInTheFile) {
  const TempFolder folder;
  Index made = index_of_codes();
  made.save(folder.path("numbered.nf"));
  EXPECT_FALSE(has_ids(folder, "numbered.nf"));
  verify_index(folder.path("numbered.nf"));
  Index opened = Index::open(folder.path("numbered.nf"));
  expect_alike(opened, made);
  for (const IndexPart& part : opened.parts()) EXPECT_TRUE(part.ids.empty());
  opened.save(folder.path("again.nf"));
  EXPECT_TRUE(folder.get("again.nf") == folder.get("numbered.nf"));

  // Behind them, as long as none is missing, ids are still the numbers of rows.
  for (Index* const index : {&made, &opened}) index->add(numbered_vectors(40, 3));
  expect_alike(opened, made);
  opened.save(folder.path("more.nf"));
  EXPECT_FALSE(has_ids(folder, "more.nf"));
  expect_alike(Index::open(folder.path("more.nf")), made);

  for (Index* const index : {&made, &opened}) {
    EXPECT_EQ(index->remove(std::vector<std::int64_t>{5, 64, 3'000, 4'000}), 3);
    EXPECT_EQ(index->upsert(numbered_vectors(1, 4), std::vector<std::int64_t>{7}), 1);
  }
  expect_alike(opened, made);
  opened.save(folder.path("changed.nf"));
  EXPECT_TRUE(has_ids(folder, "changed.nf"));
  verify_index(folder.path("changed.nf"));
  Index changed = Index::open(folder.path("changed.nf"));
  expect_alike(changed, made);
  opened.compact();
  expect_alike(opened, made);
}

// As the error says that they are, where nothing is allowed.
std::int64_t bytes_to_save(const Index& index, const TempFolder& folder) {
  try {
    index.save(folder.path("none.nf"), {.memory_limit = 1});
  } catch (const Error& error) {
    const std::string what = error.what();
    return std::stoll(what.substr(what.find("takes ") + 6));
  }
  ADD_FAILURE() << "no Error was thrown";
  return 0;
}

TEST(NumberedCodes, AreWrittenWithoutMemoryForIds) {
  const TempFolder folder;
  Index index = index_of_codes();
  const std::int64_t without_ids = bytes_to_save(index, folder);
  index.remove(std::vector<std::int64_t>{0});
  EXPECT_GE(bytes_to_save(index, folder) - without_ids, 16 * (kNumberedRows - 1));
}

// Metadata that is changed, with blanks behind the header so that tensors stay where they must be.
void put_changed(const TempFolder& folder, const std::string& name, const std::string& from,
                 const std::string& to) {
  std::string bytes = folder.get(name);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof(length));
  std::string header = bytes.substr(sizeof(length), length);
  ASSERT_NE(header.find(from), std::string::npos) << from;
  header.replace(header.find(from), from.size(), to);
  header.resize((header.size() + 8 + 63) / 64 * 64 - 8, ' ');
  const std::uint64_t changed = header.size();
  std::string prefix(sizeof(changed), '\0');
  std::memcpy(prefix.data(), &changed, sizeof(changed));
  folder.put("changed.nf", prefix + header + bytes.substr(sizeof(length) + length));
}

TEST(NumberedCodes, AFileMadeToHarmIsRefused) {
  const TempFolder folder;
  Index index = index_of_codes();
  index.save(folder.path("numbered.nf"));
  const std::string path = folder.path("changed.nf");
  const auto refused = [&](const std::string& from, const std::string& to, ErrorCode code,
                           std::initializer_list<std::string_view> says) {
    put_changed(folder, "numbered.nf", from, to);
    expect_error([&] { Index::open(path); }, code, says);
  };
  const std::string rows = R"("rows":"3000")";
  const std::string next = R"("next_id":"3000")";
  // Rows that are not there, also where a block has room for them.
  refused(rows, R"("rows":"3008")", ErrorCode::corrupt_file, {"3008", "from 3000 on"});
  put_changed(folder, "numbered.nf", next, R"("next_id":"9000")");
  folder.put("numbered9000.nf", folder.get("changed.nf"));
  put_changed(folder, "numbered9000.nf", rows, R"("rows":"3009")");
  expect_error([&] { Index::open(path); }, ErrorCode::corrupt_file, {"coded.codes"});
  refused(rows, R"("rows":"4294967295")", ErrorCode::corrupt_file, {"4294967295", "limit"});
  refused(rows, R"("rows":"-1")", ErrorCode::corrupt_file, {"-1"});
  refused(rows, R"("row":"3000")", ErrorCode::corrupt_file, {"rows"});
  refused("numbered_ids", "lettered_ids", ErrorCode::unsupported, {"lettered_ids", "newer"});
  refused(R"("coded_rows,numbered_ids")", R"("numbered_ids")", ErrorCode::unsupported, {"newer"});
  refused(R"("coded_rows,numbered_ids")", R"("coded_rows")", ErrorCode::corrupt_file, {"ids"});
  // Fewer rows can be found only by the sum of the header.
  put_changed(folder, "numbered.nf", rows, R"("rows":"2999")");
  EXPECT_EQ(Index::open(path).size(), 2'999);
  expect_error([&] { verify_index(path); }, ErrorCode::corrupt_file, {"header"});

  index.remove(std::vector<std::int64_t>{1});
  index.save(folder.path("ids.nf"));
  put_changed(folder, "ids.nf", R"("features":"coded_rows")",
              R"("features":"coded_rows,numbered_ids","rows":"2999")");
  expect_error([&] { Index::open(path); }, ErrorCode::corrupt_file, {"numbered_ids", "'ids'"});
}

}  // namespace
}  // namespace nearfield
