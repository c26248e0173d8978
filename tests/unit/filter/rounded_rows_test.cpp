#include "filter/rounded/rounded_rows.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "tests/oracle/data.hpp"

namespace nearfield {
namespace {

struct Kind {
  DType dtype;
  Metric metric;
};

// Rows as they lie in a file serve every kernel, whatever form its queries have.
TEST(RoundedRows, TensorsOfOthersAreAsThoseOfItsOwn) {
  for (const Kind& kind : {Kind{DType::u8, Metric::sqeuclidean},
                           {DType::i8, Metric::inner_product},
                           {DType::f32, Metric::sqeuclidean},
                           {DType::f32, Metric::cosine}}) {
    SCOPED_TRACE(std::string(to_string(kind.dtype)) + " " + to_string(MetricSpec(kind.metric)));
    Matrix base = data::make_matrix({data::Kind::gaussian, kind.dtype, 75, 21, 1});
    if (kind.dtype == DType::f32) {  // in no answer, and in every one
      reinterpret_cast<float*>(base.row(5))[3] = std::numeric_limits<float>::quiet_NaN();
      std::fill_n(reinterpret_cast<float*>(base.row(40)), 21, 1e30F);
    }
    BaseRounding rounding = *choose_rounding(kind.metric, kind.dtype, kind.dtype, 21, Isa::scalar);
    const Context context;
    Monitor monitor(context, 1);
    if (!rounding.lossless) fit_rounding(rounding, base.view().slice(6, 30), monitor);
    const RoundedRows bytes(rounding, QueryForm::bytes, base, 0, 1, monitor);
    for (const QueryForm form : {QueryForm::bytes, QueryForm::offset_bytes, QueryForm::words}) {
      const RoundedRows own(rounding, form, base, 0, 1, monitor);
      const RoundedRows looking(rounding, form, 75, bytes.tensors());
      EXPECT_EQ(looking.count(), 75);
      EXPECT_TRUE(std::ranges::equal(looking.tensors().values, own.tensors().values));
      EXPECT_TRUE(std::ranges::equal(looking.tensors().bias, own.tensors().bias));
      EXPECT_TRUE(std::ranges::equal(looking.tensors().odd, own.tensors().odd));
      EXPECT_EQ(looking.longest(), own.longest());
      EXPECT_EQ(looking.largest_terms().loss, own.largest_terms().loss);
      EXPECT_EQ(looking.largest_terms().other, own.largest_terms().other);
    }
    EXPECT_FALSE(std::ranges::equal(
        RoundedRows(rounding, QueryForm::offset_bytes, base, 0, 1, monitor).tensors().bias,
        bytes.tensors().bias));
  }
}

}  // namespace
}  // namespace nearfield
