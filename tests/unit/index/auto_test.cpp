// The family that fits: the answers of flat, and a plan that says what was estimated.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nearfield/index.hpp>

#include "core/random.hpp"
#include "tests/unit/expect_error.hpp"
#include "tests/unit/io/temp_folder.hpp"

namespace nearfield {
namespace {

using test::expect_error;
using test::TempFolder;

Matrix random_codes(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  Matrix codes(DType::bits, rows, cols);
  Random random(seed);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t byte = 0; byte < cols / 8; ++byte) {
      codes.row(row)[byte] = static_cast<std::byte>(random.below(256));
    }
  }
  return codes;
}

IndexSpec bits_spec(const std::string& family) {
  return {.family = family, .dtype = DType::bits, .cols = 256, .metric = Metric::hamming};
}

bool says(const Stats& stats, const std::string& text) {
  return (stats.plan.filter + stats.plan.note).find(text) != std::string::npos;
}

TEST(AutoIndex, AnswersAsFlatAndExplainsWhatItChose) {
  const TempFolder folder;
  const Matrix rows = random_codes(20'000, 256, 1);
  Matrix queries = random_codes(6, 256, 2);
  std::copy_n(rows.row(17), 32, queries.row(3));
  queries.row(3)[5] ^= std::byte{3};
  Index flat(bits_spec("flat"));
  Index fitting(bits_spec("auto"));
  flat.add(rows);
  fitting.add(rows);
  fitting.save(folder.path("auto"));
  verify_index(folder.path("auto"));
  const Index opened = Index::open(folder.path("auto"));
  for (const Index* const index : {static_cast<const Index*>(&fitting), &opened}) {
    for (const double radius : {0.0, 2.0, 120.0}) {
      const Ranges found = index->within(queries, {.radius = radius});
      EXPECT_EQ(found.ids, flat.within(queries, {.radius = radius}).ids);
      EXPECT_TRUE(found.exact);
      EXPECT_TRUE(says(found.stats, "ms by lookups")) << found.stats.plan.note;
      // So few bits are looked up; for nearly half of them every bucket would be asked.
      EXPECT_EQ(says(found.stats, "multi-index hashing"), radius < 100) << radius;
    }
    const Neighbors found = index->search(queries, {.k = 3});
    EXPECT_EQ(found.ids, flat.search(queries, {.k = 3}).ids);
    EXPECT_TRUE(says(found.stats, "at least"));
  }
}

TEST(AutoIndex, ScansWhatHasNoTables) {
  Index index({.family = "auto", .dtype = DType::f32, .cols = 2, .metric = Metric::euclidean});
  const std::vector<float> rows{0, 0, 1, 0, 5, 5};
  index.add(MatrixView(rows.data(), 3, 2));
  const Neighbors found = index.search(MatrixView(rows.data() + 2, 1, 2), {.k = 2});
  EXPECT_EQ(found.ids, (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(found.stats.plan.note, "");
  EXPECT_EQ(index.within(MatrixView(rows.data(), 1, 2), {.radius = 1}).ids,
            (std::vector<std::int64_t>{0, 1}));
}

TEST(AutoIndex, HasNoParameters) {
  expect_error([] { Index(bits_spec("auto,tables=3")); }, ErrorCode::invalid_argument,
               {"auto,tables=3", "no parameters"});
}

}  // namespace
}  // namespace nearfield
