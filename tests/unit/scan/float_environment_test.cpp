#include <gtest/gtest.h>

#include <cfenv>
#include <string>
#include <tuple>
#include <vector>

#include <nearfield/index.hpp>
#include <nearfield/knn.hpp>
#include <nearfield/quantize.hpp>

#include "tests/oracle/compare.hpp"
#include "tests/oracle/data.hpp"
#include "tests/oracle/oracle.hpp"
#include "tests/unit/io/temp_folder.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace nearfield {
namespace {

// For as long as it lives this thread rounds upwards and, on x86, flushes denormals to zero.
class OddFloats {
 public:
  OddFloats() {
    std::fegetenv(&before_);
    std::fesetround(FE_UPWARD);
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() | 0x8040);  // flush to zero, denormals are zero
#endif
  }
  ~OddFloats() { std::fesetenv(&before_); }
  OddFloats(const OddFloats&) = delete;
  OddFloats& operator=(const OddFloats&) = delete;

 private:
  std::fenv_t before_;
};

template <class Run>
auto with_odd_floats(const Run& run) {
  const OddFloats odd;
  auto result = run();
  EXPECT_EQ(std::fegetround(), FE_UPWARD) << "the caller's mode is its own";
  return result;
}

TEST(FloatEnvironment, OfTheCallerChangesNothing) {
  const Matrix base = data::make_matrix({data::Kind::denormals, DType::f32, 200, 20, 1});
  const Matrix queries = data::make_matrix({data::Kind::denormals, DType::f32, 9, 20, 2});
  const oracle::Answer want = oracle::knn(queries, base, {});
  const Neighbors got = with_odd_floats([&] { return knn(queries, base); });
  EXPECT_EQ(oracle::difference(got, want), "");
}

TEST(FloatEnvironment, OfTheCallerChangesNoCodesAndWhatTheyStandFor) {
  const test::TempFolder folder;
  const std::string path = folder.path("quantizer.safetensors");
  const Matrix rows = data::make_matrix({data::Kind::gaussian, DType::f32, 600, 12, 3});
  const auto floats_of = [](MatrixView of) {
    const auto* const values = reinterpret_cast<const float*>(of.row(0));
    return std::vector<float>(values, values + of.rows() * of.cols());
  };
  for (const QuantizerKind kind : {QuantizerKind::opq, QuantizerKind::lsq}) {
    QuantizerOptions options;
    options.kind = kind;
    options.codebooks = 3;
    options.bits = 4;
    options.iterations = 2;
    const auto run = [&] {
      Quantizer::train(rows, options).save(path);
      const Quantizer opened = Quantizer::open(path);
      const Matrix codes = opened.encode(rows);
      return std::tuple(floats_of(opened.codebooks()), floats_of(opened.decode(codes)),
                        opened.squared_errors(rows, codes));
    };
    EXPECT_TRUE(with_odd_floats(run) == run()) << to_string(kind);
  }
}

TEST(FloatEnvironment, OfWhoAddsToAnIndexOfCodesChangesNothing) {
  const Matrix rows = data::make_matrix({data::Kind::gaussian, DType::f32, 600, 12, 3});
  for (const char* const norms : {"exact", "byte"}) {
    const auto made = [&] {
      Index index({.family = std::string("coded,kind=lsq,codebooks=3,bits=4,iterations=2,rounds=2,"
                                         "train=500,rerank=0,norms=") +
                             norms,
                   .dtype = DType::f32,
                   .cols = rows.cols()});
      index.add(rows);
      return index;
    };
    const Neighbors got = with_odd_floats(made).search(rows, {.k = 5});
    const Neighbors want = made().search(rows, {.k = 5});
    EXPECT_EQ(got.ids, want.ids) << norms;
    EXPECT_EQ(got.keys, want.keys) << norms;
  }
}

}  // namespace
}  // namespace nearfield
