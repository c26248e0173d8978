// Norms in a byte: levels near the norms that there are, also where a few are far from the others.
#include "index/coded/norm_levels.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "core/random.hpp"

namespace nearfield {
namespace {

constexpr std::size_t kNormLevels = 256;

std::vector<float> some_norms(std::int64_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> norms;
  for (std::int64_t i = 0; i < count; ++i) {
    norms.push_back(static_cast<float>(10 + std::abs(random.normal())));
  }
  return norms;
}

std::vector<float> levels_of(std::span<const float> norms, CodedNorms kept = CodedNorms::byte) {
  NormSample sample(std::ssize(norms));
  sample.add(norms);
  return sample.levels(kept, 4 * static_cast<double>(std::ranges::max(norms)));
}

double lost(const std::vector<float>& levels, float norm) {
  return std::abs(static_cast<double>(levels[norm_level_of(levels, norm, CodedNorms::byte)]) -
                  static_cast<double>(norm));
}

double mean_lost(const std::vector<float>& levels, std::span<const float> norms) {
  double sum = 0;
  for (const float norm : norms) sum += lost(levels, norm);
  return sum / static_cast<double>(norms.size());
}

// The middles of even steps.
std::vector<float> even_levels(std::span<const float> norms) {
  const auto [least, most] = std::ranges::minmax(norms);
  std::vector<float> levels;
  for (std::size_t i = 0; i < kNormLevels; ++i) {
    levels.push_back(least + (most - least) * (static_cast<float>(i) + 0.5F) / kNormLevels);
  }
  return levels;
}

TEST(NormLevels, LoseLessThanEvenSteps) {
  std::vector<float> norms = some_norms(5'000, 1);
  EXPECT_LT(mean_lost(levels_of(norms), norms), 0.9 * mean_lost(even_levels(norms), norms));
  // One that is long takes a level, and not the steps of all others.
  norms[17] = 1'100;
  const std::vector<float> levels = levels_of(norms);
  EXPECT_EQ(levels.size(), kNormLevels);
  EXPECT_TRUE(std::ranges::is_sorted(levels));
  EXPECT_LT(mean_lost(levels, norms), 0.05 * mean_lost(even_levels(norms), norms));
  EXPECT_LT(lost(levels, 1'100), 11);
}

TEST(NormLevels, AreTheNormsWhereFewDiffer) {
  for (const int differing : {1, 2, 100, 232}) {
    std::vector<float> norms;
    for (int i = 0; i < 3'000; ++i) norms.push_back(static_cast<float>(7 + i * i % differing));
    EXPECT_EQ(mean_lost(levels_of(norms), norms), 0) << differing;
  }
  const std::vector<float> zeros(300, 0.0F);
  EXPECT_EQ(mean_lost(levels_of(zeros), zeros), 0);
  const std::vector<float> none = NormSample(0).levels(CodedNorms::byte, 1);
  EXPECT_EQ(none.size(), kNormLevels);
  EXPECT_TRUE(std::ranges::is_sorted(none));
  std::vector<float> differing;
  for (int i = 0; i < 250; ++i) differing.push_back(static_cast<float>(1'000 + i));
  EXPECT_LE(mean_lost(levels_of(differing), differing), 0.1);
}

// From 0 to the longest that there is, which levels_of takes for four times the most.
TEST(NormLevels, AreAlsoOfShorterAndLongerNorms) {
  const std::vector<float> norms = some_norms(5'000, 2);
  const std::vector<float> levels = levels_of(norms);
  const auto [least, most] = std::ranges::minmax(norms);
  for (float norm = 0; norm < least; norm += 0.1F) EXPECT_LE(lost(levels, norm), least / 15);
  for (float norm = most; norm < 4 * most; norm += 0.1F) {
    EXPECT_LE(lost(levels, norm), 0.046 * static_cast<double>(norm)) << norm;
  }
}

TEST(NormLevels, OfManyNormsSomeAreTakenWithTheLeastAndTheMost) {
  std::vector<float> norms = some_norms(3 * NormSample::kMostTaken, 3);
  norms[4] = 1;  // of every third none of these
  norms[5] = 500;
  NormSample pieces(std::ssize(norms));
  for (std::size_t first = 0; first < norms.size(); first += 1'000) {
    pieces.add(std::span(norms).subspan(first, std::min<std::size_t>(1'000, norms.size() - first)));
  }
  const std::vector<float> levels = pieces.levels(CodedNorms::byte, 2'000);
  EXPECT_EQ(levels, levels_of(norms));
  EXPECT_LT(lost(levels, 1), 0.1);
  EXPECT_LT(lost(levels, 500), 5);
}

TEST(NormLevels, OfExactNormsAreNotAboveThem) {
  std::vector<float> norms = some_norms(5'000, 4);
  norms[17] = 1'100;
  const std::vector<float> levels = levels_of(norms, CodedNorms::exact);
  EXPECT_TRUE(std::ranges::is_sorted(levels));
  for (const float norm : norms) {
    EXPECT_LE(levels[norm_level_of(levels, norm, CodedNorms::exact)], norm);
  }
}

}  // namespace
}  // namespace nearfield
