// Matches of descriptors against the oracle.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include <nearfield/nearfield.hpp>

#include "search/match_tests.hpp"
#include "tests/contract/backends.hpp"
#include "tests/contract/isa_sweep.hpp"
#include "tests/oracle/data.hpp"
#include "tests/oracle/oracle.hpp"
#include "tests/unit/expect_error.hpp"

namespace nearfield::contract {
namespace {

// Descriptors, and others that are like some of them: matches, and rows that have none.
struct TwoImages {
  Matrix first;
  Matrix second;

  TwoImages(data::Kind kind, DType dtype, std::int64_t cols)
      : first(data::make_matrix({kind, dtype, 140, cols, 1})),
        second(data::make_matrix({kind, dtype, 170, cols, 2})) {
    for (std::int64_t row = 0; row < 90; ++row) {
      const std::byte* const like = first.view().row(row * 3 % 140);
      std::copy_n(like, row_bytes(dtype, cols), second.row(row));
      if (row % 3 > 0) second.row(row)[0] ^= std::byte{4};
    }
  }
};

std::vector<MatchOptions> every_way(MetricSpec metric) {
  std::vector<MatchOptions> all;
  for (const CrossCheck check : {CrossCheck::none, CrossCheck::nearest, CrossCheck::tested}) {
    for (const std::optional<double> ratio : {std::optional<double>{}, {0.8}, {1.0}}) {
      all.push_back({.metric = metric, .ratio = ratio, .cross_check = check});
    }
    all.push_back({.metric = metric, .ratio = {}, .margin = 3, .cross_check = check});
    all.push_back({.metric = metric, .max_distance = 5, .cross_check = check});
  }
  return all;
}

class Match : public testing::Test {
 protected:
  Match() { use_tiles(Tiles::int8); }
  ~Match() override { use_tiles(Tiles::where_they_pay); }
};

TEST_F(Match, FindsWhatTheOracleFinds) {
  std::int64_t found_in_all = 0;
  for (const auto& [metric, dtype] :
       {std::pair{Metric::euclidean, DType::u8}, std::pair{Metric::euclidean, DType::f32},
        std::pair{Metric::l1, DType::u8}, std::pair{Metric::hamming, DType::bits}}) {
    for (const data::Kind kind : {data::Kind::small_integers, data::Kind::gaussian,
                                  data::Kind::duplicates, data::Kind::with_non_finite}) {
      const TwoImages images(kind, dtype, 32);
      for (const MatchOptions& options : every_way(metric)) {
        const oracle::PairAnswer want = oracle::match(images.first, images.second, options);
        found_in_all += std::ssize(want.first);
        for (const Backend& backend : backends()) {
          const Pairs found = match(images.first, images.second, options, backend.context);
          EXPECT_EQ(mismatch(found, want, "match"), "")
              << to_string(metric) << ' ' << to_string(dtype) << ' ' << data::to_string(kind) << ' '
              << backend.name << ' ' << found.stats.plan.filter;
          EXPECT_TRUE(found.exact);
        }
      }
    }
  }
  EXPECT_GT(found_in_all, 10'000);
}

TEST_F(Match, ThreadsPiecesAndLimitsDoNotMatter) {
  const TwoImages images(data::Kind::small_integers, DType::u8, 32);
  const MatchOptions options{.ratio = 1.0, .cross_check = CrossCheck::tested};
  const oracle::PairAnswer want = oracle::match(images.first, images.second, options);
  const data::PiecewiseRows first(images.first), second(images.second);
  for (const int threads : {1, 2, 7}) {
    const Context context{.threads = threads};
    EXPECT_EQ(mismatch(match(first, second, options, context), want, "match"), "");
    const Plan plan = plan_match(first, second, options, context);
    const Context tight{.threads = threads, .memory_limit = plan.result_bytes + plan.working_bytes};
    EXPECT_EQ(mismatch(match(first, second, options, tight), want, "match"), "");
  }
  test::expect_error([&] { match(first, second, options, {.memory_limit = 1000}); },
                     ErrorCode::memory_limit, {"1000"});
}

// SIFT bytes along two axes, between them, and a little off one of them.
TEST_F(Match, HasTheRuleOfColmap) {
  Matrix first(DType::u8, 2, 3);
  Matrix second(DType::u8, 3, 3);
  const auto set = [](Matrix& rows, std::int64_t row, int x, int y, int z) {
    rows.row(row)[0] = static_cast<std::byte>(x);
    rows.row(row)[1] = static_cast<std::byte>(y);
    rows.row(row)[2] = static_cast<std::byte>(z);
  };
  set(first, 0, 255, 0, 0);
  set(first, 1, 0, 180, 180);
  set(second, 0, 250, 50, 0);
  set(second, 1, 0, 179, 181);
  set(second, 2, 0, 181, 179);
  // Of these lengths, angles are large: 255 * 250 / 512^2 is the cosine of 1.325, and of the first
  // row with the others 0, so at a right angle.
  MatchOptions options = MatchOptions::colmap();
  EXPECT_TRUE(match(first, second, options).first.empty());
  options.max_distance.reset();
  EXPECT_TRUE(match(first, second, options).first.empty());
  options.ratio = 0.9;
  const Pairs found = match(first, second, options);
  ASSERT_EQ(found.first, std::vector<std::int64_t>{0});
  EXPECT_EQ(found.second, std::vector<std::int64_t>{0});
  EXPECT_EQ(found.distances[0], std::acos(255.0F * 250.0F / (512.0F * 512.0F)));
}

// 0.8 * acos(168427 / 512^2) is above the angle of 200763 in float64, and equal to it in float32:
// COLMAP rejects it.
TEST_F(Match, ComparesAnglesInFloat32) {
  const TwoNearest close{{-200763, 0}, -168427};
  const MatchOptions options = MatchOptions::colmap();
  EXPECT_FALSE(passes_tests(options, close));
  EXPECT_LT(static_cast<double>(sift_angle(close.nearest.key)),
            0.8 * static_cast<double>(sift_angle(close.second)));
  EXPECT_TRUE(passes_tests(options, {{-200764, 0}, -168427}));
  // At most 0.7, whose cosine is 200497 / 512^2; the only one has its second at a right angle.
  EXPECT_TRUE(passes_tests(options, {{-200600, 0}, kInfinity}));
  EXPECT_FALSE(passes_tests(options, {{-200400, 0}, kInfinity}));
  // Longer than 512: as near as can be.
  EXPECT_EQ(sift_angle(-300000), 0.0F);
}

TEST_F(Match, AnEmptyImageHidesNoMistake) {
  const Matrix none(DType::f32, 0, 2);
  Matrix bad = data::make_matrix({data::Kind::gaussian, DType::f32, 1, 2, 1});
  const float nan = std::nanf("");
  std::memcpy(bad.row(0), &nan, sizeof(nan));
  test::expect_error([&] { match(none, bad, {.check_finite = true}); }, ErrorCode::not_finite,
                     {"NaN"});
  test::expect_error([&] { match(none, none, {.ratio = 7.0}); }, ErrorCode::invalid_argument,
                     {"ratio"});
  EXPECT_EQ(match(none, none).stats.plan.kernel,
            plan_match(MatrixRows(none), MatrixRows(none)).kernel);
}

TEST_F(Match, OfImagesWithoutDescriptorsThereIsNone) {
  const Matrix none(DType::u8, 0, 0);
  const Matrix some = data::make_matrix({data::Kind::gaussian, DType::u8, 5, 8, 1});
  EXPECT_TRUE(match(none, some).first.empty());
  EXPECT_TRUE(match(some, none).first.empty());
  EXPECT_TRUE(match(none, none).exact);
}

// Nothing speaks against the only one.
TEST_F(Match, OfOneRowThereIsNoSecond) {
  const Matrix one = data::make_matrix({data::Kind::gaussian, DType::f32, 1, 8, 1});
  const Matrix other = data::make_matrix({data::Kind::gaussian, DType::f32, 1, 8, 2});
  EXPECT_EQ(match(one, other).first.size(), 1U);
}

// Its square overflows float64: the only row is as far as a second that is not there.
TEST_F(Match, TheOnlyRowMayBeInfinitelyFar) {
  Matrix one(DType::f64, 1, 8);
  Matrix other(DType::f64, 1, 8);
  const double far = 1e200;
  const double farther = -1e200;
  std::memcpy(one.row(0), &far, sizeof(far));
  std::memcpy(other.row(0), &farther, sizeof(farther));
  for (const MatchOptions& options : every_way(Metric::euclidean)) {
    const oracle::PairAnswer want = oracle::match(one, other, options);
    const bool tested = options.ratio || options.margin || options.max_distance;
    EXPECT_EQ(want.first.size(), tested ? 0U : 1U);
    for (const Backend& backend : backends()) {
      const Pairs found = match(one, other, options, backend.context);
      EXPECT_EQ(mismatch(found, want, "match"), "") << backend.name;
      if (!tested) {
        EXPECT_EQ(found.distances, std::vector<float>{HUGE_VALF});
      }
    }
  }
}

// The many rows are cut among the threads, in whichever place they are. Of two that are equally
// near the first counts, also where another thread had the second.
TEST_F(Match, OfOneRowAgainstManyThreadsDoNotMatter) {
  const Matrix one = data::make_matrix({data::Kind::gaussian, DType::f32, 1, 8, 1});
  Matrix many = data::make_matrix({data::Kind::gaussian, DType::f32, 100'000, 8, 2});
  const auto plant = [&](std::int64_t row) {
    std::copy_n(one.view().row(0), row_bytes(DType::f32, 8), many.row(row));
    many.row(row)[0] ^= std::byte{4};
  };
  const auto matches = [&](const MatchOptions& options) {
    std::int64_t found_in_all = 0;
    for (const auto& [first, second] :
         {std::pair{one.view(), many.view()}, std::pair{many.view(), one.view()}}) {
      const oracle::PairAnswer want = oracle::match(first, second, options);
      found_in_all += std::ssize(want.first);
      for (const int threads : {1, 2, 7}) {
        const Pairs found = match(first, second, options, {.threads = threads});
        EXPECT_EQ(mismatch(found, want, "match"), "") << threads << " threads";
      }
    }
    return found_in_all;
  };
  plant(77'777);
  EXPECT_EQ(matches({.cross_check = CrossCheck::tested}), 2);
  plant(20'000);
  EXPECT_EQ(matches({.cross_check = CrossCheck::tested}), 0);
  // From the side of the many, the one has no second.
  EXPECT_EQ(matches({.cross_check = CrossCheck::nearest}), 1);
  EXPECT_EQ(matches({.ratio = {}}), 2);
}

TEST_F(Match, OptionsThatMeanNothingAreRefused) {
  const Matrix rows = data::make_matrix({data::Kind::gaussian, DType::u8, 5, 8, 1});
  const auto refused = [&](const MatchOptions& options,
                           std::initializer_list<std::string_view> words) {
    test::expect_error([&] { match(rows, rows, options); }, ErrorCode::invalid_argument, words);
  };
  refused({.metric = Metric::sqeuclidean}, {"squares", "euclidean"});
  refused({.metric = Metric::cosine}, {"cosine", "similarity"});
  refused({.metric = Metric::euclidean, .distance = MatchDistance::sift_angle}, {"inner_product"});
  const Matrix floats = data::make_matrix({data::Kind::gaussian, DType::f32, 5, 8, 1});
  test::expect_error([&] { match(floats, floats, MatchOptions::colmap()); },
                     ErrorCode::invalid_argument, {"u8", "f32"});
  refused({.ratio = 0.0}, {"ratio", "got 0"});
  refused({.ratio = 1.5}, {"ratio", "1.5"});
  refused({.margin = -1.0}, {"margin", "-1"});
  refused({.max_distance = std::nan("")}, {"max_distance", "nan"});
}

}  // namespace
}  // namespace nearfield::contract
