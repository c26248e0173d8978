// Rows to an index of their codes, block by block: what is found is what the codes say.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nearfield/encode_index.hpp>
#include <nearfield/index.hpp>
#include <nearfield/knn.hpp>
#include <nearfield/quantize.hpp>

#include "tests/oracle/data.hpp"
#include "tests/unit/expect_error.hpp"
#include "tests/unit/io/temp_folder.hpp"

namespace nearfield {
namespace {

using test::expect_error;
using test::TempFolder;

constexpr std::int64_t kEncodedRows = 3 * (1 << 15) + 41;  // of four blocks

Matrix vectors_to_encode(std::int64_t rows, std::uint64_t seed, DType dtype = DType::f32) {
  return data::make_matrix({data::Kind::gaussian, dtype, rows, 6, seed});
}

Quantizer small_quantizer(QuantizerKind kind, int codebooks, int bits) {
  QuantizerOptions options;
  options.kind = kind;
  options.codebooks = codebooks;
  options.bits = bits;
  options.iterations = 2;
  if (kind == QuantizerKind::lsq) options.rounds = 1;
  return Quantizer::train(vectors_to_encode(500, 1), options, {.seed = 5});
}

TEST(EncodeIndex, FindsTheNearestByTheirCodes) {
  const TempFolder folder;
  const std::string path = folder.path("codes.nf");
  const Matrix queries = vectors_to_encode(20, 2);
  const Matrix rows = vectors_to_encode(kEncodedRows, 3);
  struct Kind {
    Quantizer quantizer;
    EncodeIndexOptions options;
    double lost;
  };
  const std::vector<Kind> kinds{
      {small_quantizer(QuantizerKind::pq, 3, 8), {}, 1e-4},
      {small_quantizer(QuantizerKind::opq, 5, 4), {.metric = Metric::euclidean}, 1e-4},
      {small_quantizer(QuantizerKind::rq, 3, 4), {.metric = Metric::inner_product}, 1e-4},
      {small_quantizer(QuantizerKind::lsq, 3, 4), {}, 1e-4},
      {small_quantizer(QuantizerKind::lsq, 2, 4), {.byte_norms = true}, 0.2}};
  for (const Kind& kind : kinds) {
    SCOPED_TRACE(to_string(kind.quantizer.options().kind));
    EXPECT_EQ(encode_index(kind.quantizer, MatrixRows(rows), path, kind.options), 0);
    EXPECT_EQ(folder.file_count(), 1);
    verify_index(path);
    Index index = Index::open(path);
    EXPECT_EQ(index.size(), kEncodedRows);
    EXPECT_EQ(index.ids().back(), kEncodedRows - 1);
    const Neighbors found = index.search(queries, {.k = 5});
    EXPECT_FALSE(found.exact);
    EXPECT_NE(found.stats.plan.filter.find("no vectors"), std::string::npos);
    const Matrix about = kind.quantizer.decode(kind.quantizer.encode(rows));
    const Neighbors expected = knn(queries, about, {.k = 5, .metric = kind.options.metric});
    for (std::size_t i = 0; i < found.keys.size(); ++i) {
      EXPECT_NEAR(found.keys[i], expected.keys[i], kind.lost);
    }
    // It is an index as others are: what is added is encoded by the same codebooks.
    index.remove(std::vector<std::int64_t>{found.ids[0]});
    EXPECT_NE(index.search(queries, {.k = 5}).ids[0], found.ids[0]);
    EXPECT_EQ(index.add(rows.view().slice(found.ids[0], 1)), kEncodedRows);
    EXPECT_EQ(index.search(queries, {.k = 5}).keys, found.keys);
  }
}

TEST(EncodeIndex, GoesOnWhereItWasStopped) {
  const TempFolder folder;
  const Matrix rows = vectors_to_encode(kEncodedRows, 4, DType::u8);
  const Quantizer quantizer = small_quantizer(QuantizerKind::lsq, 2, 4);
  encode_index(quantizer, MatrixRows(rows), folder.path("whole.nf"));
  Context stopped;
  stopped.progress = [&](const Progress& progress) {
    EXPECT_EQ(progress.total, kEncodedRows);
    if (progress.done >= 3 << 15) stopped.cancel.cancel();
  };
  const std::string path = folder.path("codes.nf");
  expect_error([&] { encode_index(quantizer, MatrixRows(rows), path, {}, stopped); },
               ErrorCode::cancelled, {});
  EXPECT_EQ(folder.file_count(), 2);
  // The last block may be damaged by a power cut, and is made again.
  const std::int64_t before = encode_index(quantizer, MatrixRows(rows), path, {}, {.threads = 1});
  EXPECT_GE(before, 1 << 15);
  EXPECT_LT(before, kEncodedRows);
  EXPECT_EQ(folder.file_count(), 2);
  EXPECT_TRUE(folder.get("codes.nf") == folder.get("whole.nf"));
}

// A file of codes that was stopped has the same codes, behind a header, under the same name.
TEST(EncodeIndex, GoesOnWithNothingThatIsNotAnIndex) {
  const TempFolder folder;
  const Matrix rows = vectors_to_encode(kEncodedRows, 4, DType::u8);
  const Quantizer quantizer = small_quantizer(QuantizerKind::lsq, 2, 4);
  const EncodeIndexOptions without_norms{.metric = Metric::inner_product};
  encode_index(quantizer, MatrixRows(rows), folder.path("whole"), without_norms);
  Context stopped;
  stopped.progress = [&](const Progress& progress) {
    if (progress.done >= 3 << 15) stopped.cancel.cancel();
  };
  expect_error([&] { encode_file(quantizer, MatrixRows(rows), folder.path("codes"), stopped); },
               ErrorCode::cancelled, {});
  EXPECT_EQ(folder.file_count(), 2);
  EXPECT_EQ(encode_index(quantizer, MatrixRows(rows), folder.path("codes"), without_norms), 0);
  EXPECT_TRUE(folder.get("codes") == folder.get("whole"));
}

// Each row 3 bytes and a bit that says it is finite; 18 KB of codebooks, and a header.
TEST(EncodeIndex, AFileIsCodesAndLittleElse) {
  const TempFolder folder;
  const Quantizer quantizer = small_quantizer(QuantizerKind::pq, 3, 8);
  encode_index(quantizer, MatrixRows(vectors_to_encode(kEncodedRows, 3)), folder.path("codes.nf"));
  const auto bytes = std::ssize(folder.get("codes.nf"));
  EXPECT_LT(bytes, kEncodedRows * 25 / 8 + 24'000);
  EXPECT_LT(Index::open(folder.path("codes.nf")).stats().bytes, 5 * kEncodedRows);
}

TEST(EncodeIndex, SaysHowManyAreEncodedAndHowMuchIsWritten) {
  const TempFolder folder;
  std::vector<Progress> said;
  Context context;
  context.progress = [&](const Progress& progress) { said.push_back(progress); };
  const Quantizer quantizer = small_quantizer(QuantizerKind::lsq, 2, 4);
  encode_index(quantizer, MatrixRows(vectors_to_encode(kEncodedRows, 3)), folder.path("codes.nf"),
               {}, context);
  const auto writing = std::ranges::find_if(
      said, [](const Progress& progress) { return progress.total != kEncodedRows; });
  ASSERT_NE(writing, said.begin());
  ASSERT_NE(writing, said.end());
  EXPECT_EQ((writing - 1)->done, kEncodedRows);
  // Of each row a byte of codes and 5 of its norm; beside them the header and little else.
  EXPECT_GT(said.back().total, 6 * kEncodedRows);
  EXPECT_LT(said.back().total, std::ssize(folder.get("codes.nf")));
  EXPECT_EQ(said.back().done, said.back().total);
  for (auto at = writing; at + 1 < said.end(); ++at) EXPECT_LE(at->done, (at + 1)->done);
}

TEST(EncodeIndex, ANumberOfRowsMayBeSmall) {
  const TempFolder folder;
  const Quantizer quantizer = small_quantizer(QuantizerKind::lsq, 2, 4);
  for (const std::int64_t count : {0, 1, 64, 65}) {
    const Matrix rows = vectors_to_encode(count, 6);
    encode_index(quantizer, MatrixRows(rows), folder.path("codes.nf"), {},
                 {.memory_limit = 100 << 20});
    verify_index(folder.path("codes.nf"));
    const Index index = Index::open(folder.path("codes.nf"));
    EXPECT_EQ(index.search(vectors_to_encode(2, 7), {.k = 70}).counts,
              (std::vector<std::int64_t>{count, count}));
  }
}

// Writing takes a buffer of 4 MiB and pieces of codes, more than encoding so few columns.
TEST(EncodeIndex, WritesWithinTheMemoryLimit) {
  const TempFolder folder;
  const Quantizer quantizer = small_quantizer(QuantizerKind::pq, 3, 4);
  const Matrix rows = vectors_to_encode(kEncodedRows, 9);
  const auto encode = [&](const std::string& name, const Context& context) {
    encode_index(quantizer, MatrixRows(rows), folder.path(name), {}, context);
  };
  expect_error([&] { encode("small.nf", {.memory_limit = 5 << 20}); }, ErrorCode::memory_limit,
               {"writing an index of 98345 codes", "5242880"});
  EXPECT_EQ(folder.file_count(), 0);
  encode("limited.nf", {.memory_limit = 8 << 20});
  encode("whole.nf", {});
  EXPECT_TRUE(folder.get("limited.nf") == folder.get("whole.nf"));
}

TEST(EncodeIndex, SaysWhatAnIndexCannotHold) {
  const TempFolder folder;
  const Matrix rows = vectors_to_encode(300, 8);
  const auto encode = [&](const Quantizer& quantizer, const EncodeIndexOptions& options,
                          MatrixView of) {
    return [&, of, options] {
      encode_index(quantizer, MatrixRows(of), folder.path("codes.nf"), options);
    };
  };
  const Quantizer pq = small_quantizer(QuantizerKind::pq, 2, 4);
  expect_error(encode(pq, {.metric = Metric::l1}, rows), ErrorCode::invalid_argument, {"l1"});
  expect_error(encode(pq, {.byte_norms = true}, rows), ErrorCode::invalid_argument, {"norms"});
  const Matrix wider = data::make_matrix({data::Kind::gaussian, DType::f32, 9, 7, 1});
  expect_error(encode(pq, {}, wider), ErrorCode::invalid_argument, {"6 columns", "7"});
  QuantizerOptions options;
  options.codebooks = 2;
  options.bits = 4;
  options.iterations = 1;
  options.sweeps = 2;
  const Quantizer unusual = Quantizer::train(rows, options);
  expect_error(encode(unusual, {}, rows), ErrorCode::unsupported, {"sweeps 2 times", ".u8bin"});
  EXPECT_EQ(folder.file_count(), 0);
}

}  // namespace
}  // namespace nearfield
