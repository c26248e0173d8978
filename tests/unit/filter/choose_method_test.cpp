#include "filter/gpu/choose_method.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nearfield/version.hpp>

#include "tests/unit/device/named_tuning.hpp"

namespace nearfield {
namespace {

using enum DeviceMethod;

struct Shape {
  std::int64_t queries;
  std::int64_t cols;
  std::int64_t k;
};

DeviceSearch search_of(const Shape& shape) {
  return {.metric = Metric::sqeuclidean,
          .queries = DType::f32,
          .rows = DType::f32,
          .cols = shape.cols,
          .query_count = shape.queries,
          .row_count = 100'000,
          .first_of_any = shape.k,
          .threads = 2,
          .most_found = 1 << 20};
}

DeviceMethod chosen(const Shape& shape, const std::vector<DeviceMethod>& candidates) {
  gpu::Facts facts;
  facts.name = "a card";
  facts.driver = "1.2";
  return choose_method(facts, search_of(shape), candidates);
}

const std::vector<DeviceMethod> kOfFloats{keys, fused, halves};

TEST(ChooseMethod, FollowsTheRulesWhereNothingWasMeasured) {
  EXPECT_EQ(chosen({8000, 32, 64}, kOfFloats), fused);
  EXPECT_EQ(chosen({7999, 32, 64}, kOfFloats), keys);
  EXPECT_EQ(chosen({8000, 33, 64}, kOfFloats), halves);
  EXPECT_EQ(chosen({8000, 33, 64}, {keys, fused}), keys);
  EXPECT_EQ(chosen({8000, 32, 65}, {keys, halves}), keys);
  EXPECT_EQ(chosen({1, 128, 10}, kOfFloats), halves);
  EXPECT_EQ(chosen({1, 128, 10}, {keys}), keys);
  EXPECT_EQ(chosen({8000, 4, 2}, {keys, fused, halves, bytes, two_bytes}), two_bytes);
  EXPECT_EQ(chosen({8000, 4, 3}, {keys, fused, halves, bytes}), bytes);
}

TEST(ChooseMethod, TakesWhatTheSearchAsksFor) {
  DeviceSearch search = search_of({8000, 16, 10});
  search.method = halves;
  EXPECT_EQ(choose_method({}, search, kOfFloats), halves);
  search.method = bytes;  // which finds nothing of floats
  EXPECT_EQ(choose_method({}, search, kOfFloats), fused);
}

TEST(ChooseMethod, TakesWhatWasMeasured) {
  const TuningPoint narrow{{1000, 100'000, 4, 10},
                           {{"keys", {2}}, {"fused", {3}}, {"halves", {1}}}};
  const TuningPoint wide{{1000, 100'000, 128, 10},
                         {{"keys", {2}}, {"fused", {1}}, {"halves", {3}}}};
  const test::NamedTuning named(
      TuningTable{"a card", "1.2", std::string(version()), "", {}, {narrow, wide}, {}});
  EXPECT_EQ(chosen({1000, 4, 10}, kOfFloats), halves);
  EXPECT_EQ(chosen({1000, 128, 10}, kOfFloats), fused);
  // What applies, of what was measured.
  EXPECT_EQ(chosen({1000, 128, 100}, {keys, halves}), keys);
  // Bytes were not: the rules.
  EXPECT_EQ(chosen({1000, 128, 10}, {keys, fused, halves, bytes}), bytes);
}

}  // namespace
}  // namespace nearfield
