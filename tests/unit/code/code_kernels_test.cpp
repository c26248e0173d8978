#include "code/code_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "core/random.hpp"

namespace nearfield {
namespace {

// For each ISA of this machine and both sizes of codebooks.
template <class Test>
void for_each_code_kernel(const Test& test) {
  for (const Isa isa : available_isas()) {
    for (const int words : {16, 256}) {
      SCOPED_TRACE(std::string(to_string(isa)) + ", " + std::to_string(words));
      test(code_kernels(isa, words), words);
    }
  }
}

std::vector<std::int16_t> halves(std::size_t count, std::int64_t most, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::int16_t> values(count);
  for (auto& value : values) {
    value = static_cast<std::int16_t>(random.below(2 * most + 1) - most);
  }
  return values;
}

TEST(CodeKernels, ProductsAreExact) {
  for_each_code_kernel([](const CodeKernels& kernels, int words) {
    for (const std::int64_t pairs : {1, 3, 64}) {
      // The largest whose sums fit.
      const auto most = static_cast<std::int64_t>(std::sqrt(2147483647.0 / (2.0 * double(pairs))));
      const auto x = halves(static_cast<std::size_t>(kProductVectors * 2 * pairs),
                            std::min<std::int64_t>(most, 32767), 1);
      const auto book = halves(static_cast<std::size_t>(2 * pairs * words),
                               std::min<std::int64_t>(most, 32767), 2);
      std::vector<std::int32_t> out(static_cast<std::size_t>(kProductVectors * words));
      kernels.products(x.data(), 2 * pairs, book.data(), pairs, out.data());
      for (std::int64_t v = 0; v < kProductVectors; ++v) {
        for (int b = 0; b < words; ++b) {
          std::int64_t sum = 0;
          for (std::int64_t i = 0; i < 2 * pairs; ++i) {
            sum += std::int64_t{x[static_cast<std::size_t>(v * 2 * pairs + i)]} *
                   book[static_cast<std::size_t>(((i / 2) * words + b) * 2 + i % 2)];
          }
          ASSERT_EQ(out[static_cast<std::size_t>(v * words + b)], sum) << v << " " << b;
        }
      }
    }
  });
}

TEST(CodeKernels, UnariesBeginAtZeroAndStopAtTheLimit) {
  for_each_code_kernel([](const CodeKernels& kernels, int words) {
    std::vector<std::int32_t> products(static_cast<std::size_t>(words));
    std::vector<float> norms(products.size());
    Random random(3);
    for (auto& product : products) {
      product = static_cast<std::int32_t>(random.below(2'000'000'000) - 1'000'000'000);
    }
    for (auto& norm : norms) norm = static_cast<float>(random.below(10'000));
    const float scale = 1e-4F;
    std::vector<std::uint16_t> out(products.size());
    kernels.unaries(products.data(), norms.data(), scale, out.data());
    std::vector<float> values;
    for (std::size_t b = 0; b < out.size(); ++b) {
      values.push_back(norms[b] - static_cast<float>(products[b]) * scale);
    }
    const float least = *std::min_element(values.begin(), values.end());
    for (std::size_t b = 0; b < out.size(); ++b) {
      ASSERT_EQ(out[b], std::min(std::nearbyint(values[b] - least), 65535.0F)) << b;
    }
    EXPECT_EQ(*std::min_element(out.begin(), out.end()), 0);
    EXPECT_EQ(*std::max_element(out.begin(), out.end()), kTooFar);
  });
}

TEST(CodeKernels, CloseCodewordsAreThoseNearTheNearest) {
  for_each_code_kernel([](const CodeKernels& kernels, int words) {
    std::vector<std::int32_t> products(static_cast<std::size_t>(words));
    std::vector<float> norms(products.size());
    Random random(4);
    for (auto& product : products) product = static_cast<std::int32_t>(random.below(1000));
    for (auto& norm : norms) norm = static_cast<float>(random.below(3000));
    for (const double apart : {0.0, 1.0, 5.0, 1000.0}) {
      const CloseTest test{.base = 5000, .apart = apart, .slack = 0.5};
      std::vector<std::uint8_t> out(products.size());
      const int found = kernels.close_codewords(products.data(), norms.data(), 2, test, out.data());
      double least = HUGE_VAL;
      const auto square = [&](std::size_t b) { return 5000.0 + norms[b] - 2.0 * products[b]; };
      for (std::size_t b = 0; b < out.size(); ++b) least = std::min(least, square(b));
      const double limit = std::pow(std::sqrt(least) + apart, 2) + test.slack;
      std::vector<std::uint8_t> expected;
      for (std::size_t b = 0; b < out.size(); ++b) {
        if (square(b) <= limit) expected.push_back(static_cast<std::uint8_t>(b));
      }
      out.resize(static_cast<std::size_t>(found));
      EXPECT_EQ(out, expected) << apart;
    }
  });
}

struct IcmCase {
  int codebooks;
  int words;
  int target;
  std::vector<std::uint16_t> pairs;
  std::vector<std::uint16_t> unaries;
  std::vector<std::uint8_t> codes;
  std::vector<std::uint64_t> stale;

  IcmCase(int m, int h, int k, std::int64_t vectors, std::int64_t most, std::uint64_t seed)
      : codebooks(m), words(h), target(k), stale(static_cast<std::size_t>(vectors), ~0ULL) {
    Random random(seed);
    pairs.resize(static_cast<std::size_t>((m - 1) * h * h));
    unaries.resize(static_cast<std::size_t>(vectors * h));
    codes.resize(static_cast<std::size_t>(vectors * m));
    for (auto& entry : pairs) entry = static_cast<std::uint16_t>(random.below(most));
    for (auto& entry : unaries) entry = static_cast<std::uint16_t>(random.below(most));
    for (auto& code : codes) code = static_cast<std::uint8_t>(random.below(h));
  }

  // What 16 bits hold of the sum that a vector has with a code of the target.
  std::int64_t sum(std::int64_t vector, int code) const {
    std::int64_t total = unaries[static_cast<std::size_t>(vector * words + code)];
    for (int other = 0, slot = 0; other < codebooks; ++other) {
      if (other == target) continue;
      const int its = codes[static_cast<std::size_t>(vector * codebooks + other)];
      total += pairs[pair_at(slot++, its, code)];
    }
    return std::min<std::int64_t>(total, kTooFar);
  }

  std::size_t pair_at(int slot, int its, int code) const {
    const int of_a_half = words / halves_of(codebooks, words);
    const int half = code / of_a_half;
    const int row = (half * (codebooks - 1) + slot) * words + its;
    return static_cast<std::size_t>(row * of_a_half + code % of_a_half);
  }

  void run(const CodeKernels& kernels, const std::vector<std::int32_t>& vectors) {
    std::vector<BestCode> best(vectors.size());
    kernels.icm_step({codebooks, target, pairs.data(), unaries.data(), codes.data(), stale.data(),
                      vectors.data(), std::ssize(vectors), best.data()});
  }
};

TEST(CodeKernels, AStepOfIcmTakesTheSmallestSumAndTheFirstOfEqualOnes) {
  for_each_code_kernel([](const CodeKernels& kernels, int words) {
    for (const int m : {2, 7, words == 16 ? 64 : 12}) {
      for (const int target : {0, m / 2, m - 1}) {
        // Few values: many ties.
        IcmCase before(m, words, target, 19, 6, static_cast<std::uint64_t>(m + target));
        IcmCase after = before;
        const std::vector<std::int32_t> looked_at{0, 3, 4, 18};
        after.run(kernels, looked_at);
        for (std::int32_t v = 0; v < 19; ++v) {
          const auto at = static_cast<std::size_t>(v * m + target);
          const bool looked = std::count(looked_at.begin(), looked_at.end(), v) > 0;
          int best = before.codes[at];
          if (looked) {
            best = 0;
            for (int b = 1; b < words; ++b) {
              if (before.sum(v, b) < before.sum(v, best)) best = b;
            }
          }
          ASSERT_EQ(after.codes[at], best) << m << " " << target << " " << v;
          const std::uint64_t own = 1ULL << target;
          ASSERT_EQ(after.stale[static_cast<std::size_t>(v)], !looked ? ~0ULL
                                                              : best != before.codes[at]
                                                                  ? ~own
                                                                  : ~0ULL & ~own);
        }
      }
    }
  });
}

TEST(CodeKernels, PairRowsAreWholeNumbersAboveTheSmallest) {
  for_each_code_kernel([](const CodeKernels& kernels, int words) {
    std::vector<std::int32_t> products(static_cast<std::size_t>(words));
    Random random(3);
    for (auto& product : products) {
      product = static_cast<std::int32_t>(random.below(2'000'000'000) - 1'000'000'000);
    }
    const float scale = 3e-5F;
    std::vector<std::uint16_t> out(products.size());
    kernels.pair_row(products.data(), scale, out.data());
    const auto whole = [&](std::int32_t product) {
      return std::nearbyint(static_cast<float>(product) * scale);
    };
    const float least = whole(*std::min_element(products.begin(), products.end()));
    for (std::size_t b = 0; b < out.size(); ++b) {
      ASSERT_EQ(out[b], whole(products[b]) - least) << b;
    }
  });
}

TEST(CodeKernels, CostsAreTheSameBitsOnEveryIsa) {
  for (const int words : {16, 256}) {
    for (const std::int64_t cols : {16, 48, 128}) {
      Random random(7);
      std::vector<float> x(static_cast<std::size_t>(cols));
      std::vector<float> books(static_cast<std::size_t>(5 * words * cols));
      for (float& value : x) value = static_cast<float>(random.normal());
      for (float& value : books) value = static_cast<float>(random.normal());
      const std::vector<std::uint8_t> codes{3, 0, 15, 7, 1};
      double expected = 0;
      for (std::int64_t i = 0; i < cols; ++i) {
        double rest = x[static_cast<std::size_t>(i)];
        for (int k = 0; k < 5; ++k) {
          const std::int64_t row = k * words + codes[static_cast<std::size_t>(k)];
          rest -= books[static_cast<std::size_t>(row * cols + i)];
        }
        expected += rest * rest;
      }
      std::vector<float> found;
      for (const Isa isa : available_isas()) {
        found.push_back(
            code_kernels(isa, words).cost(x.data(), books.data(), cols, 5, words, codes.data()));
      }
      EXPECT_NEAR(found[0], expected, 1e-5 * expected);
      for (const float cost : found) EXPECT_EQ(std::memcmp(&cost, &found[0], sizeof(float)), 0);
    }
  }
}

TEST(CodeKernels, ProductsAreSubtractedInOrder) {
  for_each_code_kernel([](const CodeKernels& kernels, int) {
    const std::int64_t rows = 7;
    const std::int64_t cols = 83;
    const std::int64_t depth = 9;
    Random random(11);
    std::vector<double> a(static_cast<std::size_t>(rows * depth));
    std::vector<double> b(static_cast<std::size_t>(depth * cols));
    std::vector<double> c(static_cast<std::size_t>(rows * cols));
    for (auto* values : {&a, &b, &c}) {
      for (double& value : *values) value = random.normal();
    }
    std::vector<double> expected = c;
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < cols; ++j) {
        for (std::int64_t p = 0; p < depth; ++p) {
          expected[static_cast<std::size_t>(i * cols + j)] -=
              a[static_cast<std::size_t>(p * rows + i)] * b[static_cast<std::size_t>(p * cols + j)];
        }
      }
    }
    kernels.subtract_products(c.data(), cols, rows, cols, a.data(), 1, rows, b.data(), cols, depth);
    EXPECT_EQ(c, expected);
  });
}

}  // namespace
}  // namespace nearfield
