#include <gtest/gtest.h>

#include <cfenv>

#include <nearfield/knn.hpp>

#include "tests/oracle/compare.hpp"
#include "tests/oracle/data.hpp"
#include "tests/oracle/oracle.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace nearfield {
namespace {

// Answers of a caller whose thread rounds upwards and, on x86, flushes denormals to zero.
TEST(FloatEnvironment, OfTheCallerChangesNothing) {
  const Matrix base = data::make_matrix({data::Kind::denormals, DType::f32, 200, 20, 1});
  const Matrix queries = data::make_matrix({data::Kind::denormals, DType::f32, 9, 20, 2});
  const oracle::Answer want = oracle::knn(queries, base, {});

  std::fenv_t before;
  std::fegetenv(&before);
  std::fesetround(FE_UPWARD);
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() | 0x8040);  // flush to zero, denormals are zero
#endif
  const Neighbors got = knn(queries, base);
  EXPECT_EQ(std::fegetround(), FE_UPWARD) << "the caller's mode is its own";
  std::fesetenv(&before);
  EXPECT_EQ(oracle::difference(got, want), "");
}

}  // namespace
}  // namespace nearfield
