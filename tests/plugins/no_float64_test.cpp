// Keys are float64: on a device that has none the CPU computes them, and the plan says so.
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include <nearfield/nearfield.hpp>

#include "unit/expect_error.hpp"

namespace nearfield {
namespace {

class NoFloat64Test : public testing::Test {
 protected:
  NoFloat64Test() {
    ::setenv("NEARFIELD_PLUGINS", NEARFIELD_TEST_PLUGIN, 1);
    context_.device = "opencl";
  }

  const std::vector<float> values_{0, 0, 3, 4, 6, 8};
  const MatrixView rows_{values_.data(), 3, 2};
  Context context_;
};

TEST_F(NoFloat64Test, TheCpuComputesKeysAndThePlanSaysSo) {
  const PairwiseOptions options{.metric = Metric::euclidean};
  const Pairwise found = pairwise(rows_, rows_, options, context_);
  EXPECT_EQ(found.values, (std::vector<double>{0, 5, 10, 5, 0, 5, 10, 5, 0}));
  const Plan& plan = found.stats.plan;
  EXPECT_EQ(plan.device, "cpu");
  EXPECT_EQ(plan.kernel, pairwise(rows_, rows_, options).stats.plan.kernel);
  EXPECT_EQ(plan.note, "on the CPU: keys are float64, which opencl:0 lacks");
  EXPECT_NE(to_string(plan).find("note      on the CPU"), std::string::npos) << to_string(plan);
}

TEST_F(NoFloat64Test, TheCpuSearchesAndThePlanSaysSo) {
  const Neighbors found = knn(rows_, rows_, {.k = 2}, context_);
  EXPECT_EQ(found.ids, knn(rows_, rows_, {.k = 2}).ids);
  EXPECT_EQ(found.stats.plan.device, "cpu");
  EXPECT_EQ(found.stats.plan.note, "on the CPU: keys are float64, which opencl:0 lacks");
  context_.stream = 64;
  test::expect_error([&] { knn(rows_, rows_, {}, context_); }, ErrorCode::invalid_argument,
                     {"a stream means nothing"});
}

TEST_F(NoFloat64Test, TheCpuDoesNotReadItsMemory) {
  const DeviceArray array{.data = 4096, .rows = 3, .cols = 2};
  test::expect_error([&] { pairwise(rows_, array, {}, context_); }, ErrorCode::unsupported,
                     {"opencl:0 lacks", "copy the arrays to the host"});
}

// By integers alone: what refuses here is the device, when it is given work.
TEST_F(NoFloat64Test, SelectionsNeedNone) {
  test::expect_error([&] { select_k(rows_, {}, context_); }, ErrorCode::unsupported,
                     {"this device runs nothing"});
}

}  // namespace
}  // namespace nearfield
