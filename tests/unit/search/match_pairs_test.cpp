// Many pairs of images: what match() finds of each, whatever is kept of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <vector>

#include <nearfield/match_pairs.hpp>

#include "search/pair_order.hpp"
#include "tests/oracle/data.hpp"
#include "tests/unit/expect_error.hpp"

namespace nearfield {
namespace {

using test::expect_error;

// Images of one scene: rows that several have, a little changed.
std::vector<Matrix> scene(DType dtype, std::int64_t images, std::int64_t most_rows) {
  const std::int64_t cols = 32;
  const Matrix world = data::make_matrix({data::Kind::gaussian, dtype, most_rows, cols, 7});
  std::vector<Matrix> all;
  for (std::int64_t image = 0; image < images; ++image) {
    const std::int64_t rows = image % 5 == 3 ? 0 : most_rows - 3 * image;
    Matrix seen(dtype, rows, cols);
    for (std::int64_t row = 0; row < rows; ++row) {
      std::copy_n(world.view().row((row * 7 + image) % most_rows), row_bytes(dtype, cols),
                  seen.row(row));
      if ((row + image) % 4 == 0) seen.row(row)[1] ^= std::byte{1};
    }
    all.push_back(std::move(seen));
  }
  return all;
}

std::vector<MatrixView> views(const std::vector<Matrix>& images) {
  return {images.begin(), images.end()};
}

struct Taken {
  std::vector<std::int64_t> order;
  std::map<std::int64_t, Pairs> matches;
  MatchPairsStats stats;
};

Taken take_all(const ImageFeatures& features, const std::vector<ImagePair>& pairs,
               const MatchOptions& options = {}, const Context& context = {}) {
  Taken taken;
  taken.stats = match_pairs(
      features, pairs,
      [&](std::int64_t pair, const Pairs& matches) {
        taken.order.push_back(pair);
        taken.matches[pair] = matches;
      },
      options, context);
  return taken;
}

void expect_matches_of_each(const Taken& taken, const std::vector<Matrix>& images,
                            const std::vector<ImagePair>& pairs, const MatchOptions& options) {
  ASSERT_EQ(taken.order.size(), pairs.size());
  std::int64_t matches = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const Pairs want = match(images[static_cast<std::size_t>(pairs[i].first)],
                             images[static_cast<std::size_t>(pairs[i].second)], options);
    const Pairs& found = taken.matches.at(static_cast<std::int64_t>(i));
    EXPECT_EQ(found.first, want.first) << "pair " << i;
    EXPECT_EQ(found.second, want.second) << "pair " << i;
    EXPECT_EQ(found.keys, want.keys) << "pair " << i;
    EXPECT_EQ(found.distances, want.distances) << "pair " << i;
    EXPECT_TRUE(found.exact);
    matches += std::ssize(want.first);
  }
  EXPECT_EQ(taken.stats.pairs, std::ssize(pairs));
  EXPECT_EQ(taken.stats.matches, matches);
  EXPECT_GT(matches, std::ssize(pairs));
}

TEST(MatchPairs, FindsWhatMatchFindsOfEach) {
  for (const auto& [dtype, metric] :
       {std::pair{DType::u8, Metric::euclidean}, std::pair{DType::f32, Metric::euclidean},
        std::pair{DType::bits, Metric::hamming}}) {
    const std::vector<Matrix> images = scene(dtype, 9, 150);
    std::vector<ImagePair> pairs = exhaustive_pairs(9);
    std::swap(pairs[4].first, pairs[4].second);
    const MatchOptions options{.metric = metric, .ratio = 0.95};
    for (const int threads : {1, 2, 5}) {
      const Context context{.threads = threads};
      expect_matches_of_each(take_all(MatrixFeatures(views(images)), pairs, options, context),
                             images, pairs, options);
      expect_matches_of_each(take_all(data::UnkeptFeatures(images), pairs, options, context),
                             images, pairs, options);
    }
  }
}

TEST(MatchPairs, ALimitCostsReadingAndChangesNothing) {
  const std::vector<Matrix> images = scene(DType::u8, 16, 200);
  const std::vector<ImagePair> pairs = exhaustive_pairs(16);
  const MatchOptions options{.ratio = 0.95};
  const data::UnkeptFeatures unlimited(images);
  const Taken all = take_all(unlimited, pairs, options);
  EXPECT_EQ(unlimited.reads(), 13);  // three have no descriptors
  EXPECT_EQ(all.stats.images_read, 13);
  EXPECT_GT(all.stats.reading_seconds, 0);
  EXPECT_GT(all.stats.taking_seconds, 0);
  EXPECT_LT(all.stats.reading_seconds + all.stats.taking_seconds, all.stats.seconds);

  std::vector<std::int64_t> order;
  for (const int threads : {1, 3}) {
    const data::UnkeptFeatures features(images);
    const Context tight{.threads = threads, .memory_limit = 300'000};
    const Taken taken = take_all(features, pairs, options, tight);
    expect_matches_of_each(taken, images, pairs, options);
    EXPECT_GT(features.reads(), 13);
    EXPECT_EQ(taken.stats.images_read, features.reads());
    EXPECT_LE(taken.stats.most_bytes_kept, 150'000);
    if (order.empty()) order = taken.order;
    EXPECT_EQ(taken.order, order) << threads << " threads";
  }
  expect_error([&] { take_all(unlimited, pairs, options, {.memory_limit = 20'000}); },
               ErrorCode::memory_limit, {"20000", "fewer pairs"});
  expect_error([&] { take_all(unlimited, pairs, options, {.memory_limit = 100'000}); },
               ErrorCode::memory_limit, {"images 0 and 1", "200", "197", "100000", "raise it to"});
}

TEST(MatchPairs, EndsWhereItIsTold) {
  const std::vector<Matrix> images = scene(DType::u8, 6, 60);
  const MatrixFeatures features(views(images));
  const std::vector<ImagePair> pairs = exhaustive_pairs(6);
  int taken = 0;
  EXPECT_THROW(match_pairs(features, pairs,
                           [&](std::int64_t, const Pairs&) {
                             if (++taken == 4) throw std::runtime_error("enough");
                           }),
               std::runtime_error);
  EXPECT_EQ(taken, 4);

  Context stopped;
  stopped.cancel.cancel();
  expect_error([&] { take_all(features, pairs, {}, stopped); }, ErrorCode::cancelled, {});

  Context cancelled_by_take;
  taken = 0;
  expect_error(
      [&] {
        match_pairs(
            features, pairs,
            [&](std::int64_t, const Pairs&) {
              ++taken;
              cancelled_by_take.cancel.cancel();
            },
            {}, cancelled_by_take);
      },
      ErrorCode::cancelled, {});
  EXPECT_EQ(taken, 1);
}

TEST(MatchPairs, ReportsProgress) {
  const std::vector<Matrix> images = scene(DType::u8, 7, 60);
  const std::vector<ImagePair> pairs = exhaustive_pairs(7);
  std::int64_t wanted = 0;
  for (const auto [first, second] : pairs) {
    wanted += images[static_cast<std::size_t>(first)].rows() *
              images[static_cast<std::size_t>(second)].rows();
  }
  for (const int threads : {1, 2, 40}) {  // pairs by one thread each, and by all
    Progress last;
    Context context{.threads = threads};
    context.progress = [&](const Progress& progress) {
      EXPECT_GE(progress.done, last.done);
      last = progress;
    };
    take_all(MatrixFeatures(views(images)), pairs, {}, context);
    EXPECT_EQ(last.done, wanted);
    EXPECT_EQ(last.total, wanted);
  }
}

// What a class of the caller's may get wrong.
class LyingFeatures final : public ImageFeatures {
 public:
  std::int64_t images() const override { return 2; }
  DType dtype() const override { return DType::u8; }
  std::int64_t cols() const override { return 32; }
  std::int64_t rows(std::int64_t) const override { return 10; }
  Matrix read(std::int64_t image) const override { return {DType::u8, 10 + image, 32}; }
};

TEST(MatchPairs, NamesTheImagesOfAMistake) {
  expect_error(
      [] {
        take_all(LyingFeatures(), {{0, 1}});
      },
      ErrorCode::invalid_argument, {"image 1", "10 x 32", "11 x 32"});

  std::vector<Matrix> images;
  for (std::uint64_t i = 0; i < 8; ++i) {
    images.push_back(data::make_matrix({data::Kind::gaussian, DType::f32, 40, 8, i}));
  }
  reinterpret_cast<float*>(images[2].row(7))[0] = std::numeric_limits<float>::quiet_NaN();
  reinterpret_cast<float*>(images[6].row(3))[0] = std::numeric_limits<float>::infinity();
  for (const int threads : {1, 2, 3}) {  // the first by order, not by time
    expect_error(
        [&] {
          take_all(MatrixFeatures(views(images)), exhaustive_pairs(8), {.check_finite = true},
                   {.threads = threads});
        },
        ErrorCode::not_finite, {"images 0 (queries) and 2 (base)", "row 7"});
  }
}

// Of images as large as that, each pair is a wave of its own.
TEST(MatchPairs, ALargePairIsTakenAtOnceAndTheRestCanBeStopped) {
  std::vector<Matrix> images;
  for (std::uint64_t i = 0; i < 4; ++i) {
    images.push_back(data::make_matrix({data::Kind::gaussian, DType::u8, 17'000, 32, i}));
  }
  const MatrixFeatures features(views(images));
  // A busy machine may be late, the library not: the best of a few attempts counts.
  auto best = std::chrono::steady_clock::duration::max();
  for (int attempt = 0; attempt < 4 && best >= std::chrono::milliseconds(50); ++attempt) {
    int taken = 0;
    Context context;
    std::chrono::steady_clock::time_point stopped;
    const auto stop_at_first = [&](std::int64_t, const Pairs&) {
      ++taken;
      context.cancel.cancel();
      stopped = std::chrono::steady_clock::now();
    };
    expect_error([&] { match_pairs(features, exhaustive_pairs(4), stop_at_first, {}, context); },
                 ErrorCode::cancelled, {});
    best = std::min(best, std::chrono::steady_clock::now() - stopped);
    EXPECT_EQ(taken, 1);
  }
  EXPECT_LT(best, std::chrono::milliseconds(500));
}

TEST(MatchPairs, SaysWhatIsWrong) {
  const std::vector<Matrix> images = scene(DType::u8, 3, 20);
  const MatrixFeatures features(views(images));
  expect_error(
      [&] {
        take_all(features, {{0, 1}, {1, 3}});
      },
      ErrorCode::invalid_argument, {"pair 1", "1 and 3", "there are 3"});
  expect_error([&] { take_all(features, {{-1, 1}}); }, ErrorCode::invalid_argument, {"-1"});
  expect_error(
      [&] {
        take_all(features, {{2, 2}});
      },
      ErrorCode::invalid_argument, {"image 2 and itself"});
  expect_error(
      [&] {
        take_all(features, {{0, 1}}, {.metric = Metric::sqeuclidean});
      },
      ErrorCode::invalid_argument, {"euclidean"});
  expect_error([] { MatrixFeatures({}); }, ErrorCode::invalid_argument, {"no images"});
  const Matrix wider(DType::u8, 2, 64);
  expect_error(
      [&] {
        MatrixFeatures({images[0], wider});
      },
      ErrorCode::invalid_argument, {"image 1", "64", "32"});
  EXPECT_TRUE(take_all(features, {}).order.empty());
}

TEST(PairsOfImages, AreListed) {
  EXPECT_EQ(exhaustive_pairs(3), (std::vector<ImagePair>{{0, 1}, {0, 2}, {1, 2}}));
  EXPECT_EQ(sequential_pairs(4, 2),
            (std::vector<ImagePair>{{0, 1}, {0, 2}, {1, 2}, {1, 3}, {2, 3}}));
  for (const std::int64_t overlap : {0, 1, 3, 9}) {
    EXPECT_EQ(count_sequential_pairs(5, overlap), std::ssize(sequential_pairs(5, overlap)));
  }
  EXPECT_TRUE(exhaustive_pairs(1).empty());
  EXPECT_TRUE(sequential_pairs(5, 0).empty());
  expect_error([] { sequential_pairs(5, -1); }, ErrorCode::invalid_argument, {"-1"});
  expect_error([] { exhaustive_pairs(2'000'000'000); }, ErrorCode::invalid_argument,
               {"1999999999000000000", "16", "pairs of images"});
}

TEST(BlocksOfPairs, HoldEachPairOnceAndFitTheBudget) {
  const std::vector<std::int64_t> bytes{5, 40, 0, 12, 9, 30, 22, 7, 18, 3, 45, 2};
  const std::vector<ImagePair> pairs = exhaustive_pairs(std::ssize(bytes));
  for (const std::int64_t budget : {90, 100, 130, 1000}) {
    std::set<std::int64_t> seen;
    std::int64_t read = 0;
    std::set<std::int64_t> kept;
    const PairBlocks blocks = blocks_of_pairs(pairs, bytes, budget);
    for (std::int64_t block = 0; block < blocks.count(); ++block) {
      std::set<std::int64_t> images;
      for (const std::int64_t place : blocks.block(block)) {
        EXPECT_TRUE(seen.insert(place).second);
        images.insert(pairs[static_cast<std::size_t>(place)].first);
        images.insert(pairs[static_cast<std::size_t>(place)].second);
      }
      std::int64_t sum = 0;
      for (const std::int64_t image : images) {
        sum += bytes[static_cast<std::size_t>(image)];
        read += kept.contains(image) ? 0 : 1;
      }
      EXPECT_LE(sum, budget);
      kept = images;
    }
    EXPECT_EQ(seen.size(), pairs.size());
    if (budget == 1000) {
      EXPECT_EQ(read, 12);
    }
    EXPECT_LE(read, 12 * 4);  // five groups at most: each with the others, and half stay
  }
}

}  // namespace
}  // namespace nearfield
