#include "distance/kernels.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "device/vector_isa.hpp"

namespace nearfield {
namespace {

// The label of an Isa against what the code says of itself from inside its namespace.
TEST(Kernels, AreThoseOfTheirIsa) {
  const std::map<Isa, std::set<std::string>> names{{Isa::scalar, {"N_SCALAR", "N_EMU128"}},
                                                   {Isa::ssse3, {"N_SSSE3"}},
                                                   {Isa::avx2, {"N_AVX2"}},
                                                   {Isa::avx512, {"N_AVX3"}},
                                                   {Isa::avx512vnni, {"N_AVX3"}},
                                                   {Isa::avx512icl, {"N_AVX3_DL"}},
                                                   {Isa::amx, {"N_AVX3", "N_AVX3_DL"}},
                                                   {Isa::neon, {"N_NEON"}}};
  std::set<KeyKernel> seen;
  for (const Isa isa : available_isas()) {
    const DistanceKernels& table = distance_kernels(isa);
    EXPECT_EQ(table.isa, isa);
    for (const MetricInfo& metric : metrics()) {
      const MetricKernels& kernels = table.metrics[static_cast<std::size_t>(metric.metric)];
      EXPECT_TRUE(names.at(isa).contains(kernels.target))
          << to_string(isa) << " runs " << kernels.target;
      for (const KeyKernel kernel : kernels.keys) {
        if (kernel != nullptr && vector_isa(isa) == isa) {  // others have tiles only
          EXPECT_TRUE(seen.insert(kernel).second) << "shared kernel";
        }
      }
    }
  }
}

}  // namespace
}  // namespace nearfield
