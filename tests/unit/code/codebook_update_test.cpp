#include "code/codebook_update.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <utility>

#include <nearfield/error.hpp>

#include "code/solve.hpp"
#include "tests/unit/code/code_reference.hpp"

namespace nearfield {
namespace {

std::vector<std::uint8_t> random_codes(std::int64_t count, int codebooks, int used) {
  Random random(4);
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(count * codebooks));
  for (auto& code : codes) code = static_cast<std::uint8_t>(random.below(used));
  return codes;
}

double total_cost(const Codebooks& books, const std::vector<float>& rows,
                  const std::vector<std::uint8_t>& codes) {
  double sum = 0;
  for (std::int64_t v = 0; v * books.cols < std::ssize(rows); ++v) {
    sum +=
        test::reference_cost(books, rows.data() + v * books.cols, codes.data() + v * books.count);
  }
  return sum;
}

void update(const std::vector<float>& rows, const std::vector<std::uint8_t>& codes,
            Codebooks& books, int threads = 1, Isa isa = default_isa()) {
  const Context context;
  const Monitor monitor(context, 1);
  update_codebooks(rows.data(), std::ssize(rows) / books.cols, codes.data(), books,
                   code_kernels(isa, books.codewords), threads, monitor);
}

// The same minimum from the whole matrix of codes, one column at a time, by elimination.
Codebooks reference_update(const std::vector<float>& rows, const std::vector<std::uint8_t>& codes,
                           const Codebooks& old) {
  const auto size = static_cast<std::size_t>(old.count * old.codewords);
  const std::int64_t count = std::ssize(rows) / old.cols;
  Codebooks result = old;
  for (std::int64_t col = 0; col < old.cols; ++col) {
    std::vector<std::vector<double>> system(size, std::vector<double>(size + 1));
    for (std::int64_t v = 0; v < count; ++v) {
      std::vector<double> row(size);
      for (int k = 0; k < old.count; ++k) {
        row[static_cast<std::size_t>(k * old.codewords +
                                     codes[static_cast<std::size_t>(v * old.count + k)])] = 1;
      }
      for (std::size_t i = 0; i < size; ++i) {
        for (std::size_t j = 0; j < size; ++j) system[i][j] += row[i] * row[j];
        system[i][size] += row[i] * rows[static_cast<std::size_t>(v * old.cols + col)];
      }
    }
    for (std::size_t i = 0; i < size; ++i) {
      system[i][i] += kNearOld;
      system[i][size] +=
          kNearOld *
          old.values[i * static_cast<std::size_t>(old.cols) + static_cast<std::size_t>(col)];
    }
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t r = 0; r < size; ++r) {
        if (r == i) continue;
        const double factor = system[r][i] / system[i][i];
        for (std::size_t j = i; j <= size; ++j) system[r][j] -= factor * system[i][j];
      }
    }
    for (std::size_t i = 0; i < size; ++i) {
      result.values[i * static_cast<std::size_t>(old.cols) + static_cast<std::size_t>(col)] =
          static_cast<float>(system[i][size] / system[i][i]);
    }
  }
  return result;
}

TEST(CodebookUpdate, IsTheLeastSquaresSolution) {
  const auto rows = test::rows_to_code(150, 3);
  const auto codes = random_codes(150, 3, 14);  // two codewords of each are used by nobody
  const Codebooks old = test::random_codebooks(3, 16, 3);
  Codebooks books = old;
  update(rows, codes, books);
  const Codebooks expected = reference_update(rows, codes, old);
  for (std::size_t i = 0; i < books.values.size(); ++i) {
    ASSERT_NEAR(books.values[i], expected.values[i], 1e-3) << i;
  }
  for (int k = 0; k < 3; ++k) {
    EXPECT_NEAR(books.word(k, 15)[0], old.word(k, 15)[0], 1e-4) << "who uses nobody moved";
  }
}

TEST(CodebookUpdate, NeverGrowsTheErrorAndIsASolutionOnceReached) {
  const auto rows = test::rows_to_code(600, 8);
  const auto codes = random_codes(600, 4, 16);
  Codebooks books = test::random_codebooks(4, 16, 8);
  double before = total_cost(books, rows, codes);
  for (int i = 0; i < 4; ++i) {
    update(rows, codes, books);
    const double after = total_cost(books, rows, codes);
    EXPECT_LE(after, before * (1 + 1e-6));
    if (i > 1) {
      EXPECT_NEAR(after, before, 1e-4 * before);
    }
    before = after;
  }
}

TEST(CodebookUpdate, OfOneCodebookMakesMeans) {
  const std::vector<float> rows{1, 2, 3, 5, 10, 20};
  const std::vector<std::uint8_t> codes{4, 4, 9};
  Codebooks books(1, 16, 2);
  books.word(0, 7)[1] = 3;
  update(rows, codes, books);
  EXPECT_EQ(books.word(0, 4)[0], 2);
  EXPECT_EQ(books.word(0, 4)[1], 3.5F);
  EXPECT_EQ(books.word(0, 9)[1], 20);
  EXPECT_EQ(books.word(0, 7)[1], 3);
}

TEST(CodebookUpdate, TheSameBitsOnAnyIsaAndThreads) {
  const auto rows = test::rows_to_code(500, 37);
  const auto codes = random_codes(500, 6, 16);
  const Codebooks old = test::random_codebooks(6, 16, 37);
  Codebooks expected = old;
  update(rows, codes, expected);
  Codebooks threads = old;
  update(rows, codes, threads, 3);
  EXPECT_EQ(threads.values, expected.values);
  for (const Isa isa : available_isas()) {
    Codebooks books = old;
    update(rows, codes, books, 1, isa);
    EXPECT_EQ(books.values, expected.values) << to_string(isa);
  }
}

TEST(Solve, FindsWhatWasMultiplied) {
  const Context context;
  const Monitor monitor(context, 1);
  const CodeKernels& kernels = code_kernels(default_isa(), 256);
  for (const std::int64_t size : {1, 5, 64, 65, 150}) {
    Random random(6);
    std::vector<double> factor(static_cast<std::size_t>(size * size));
    for (double& value : factor) value = random.normal();
    std::vector<double> a(factor.size());
    for (std::int64_t i = 0; i < size; ++i) {
      for (std::int64_t j = 0; j < size; ++j) {
        double& entry = a[static_cast<std::size_t>(i * size + j)];
        for (std::int64_t p = 0; p < size; ++p) {
          entry += factor[static_cast<std::size_t>(i * size + p)] *
                   factor[static_cast<std::size_t>(j * size + p)];
        }
        if (i == j) entry += 1;
      }
    }
    for (const std::int64_t cols : {1, 9, 300}) {
      std::vector<double> x(static_cast<std::size_t>(size * cols));
      for (double& value : x) value = random.normal();
      std::vector<double> b(x.size());
      for (std::int64_t i = 0; i < size; ++i) {
        for (std::int64_t p = 0; p < size; ++p) {
          for (std::int64_t j = 0; j < cols; ++j) {
            b[static_cast<std::size_t>(i * cols + j)] += a[static_cast<std::size_t>(i * size + p)] *
                                                         x[static_cast<std::size_t>(p * cols + j)];
          }
        }
      }
      auto matrix = a;
      solve_positive_definite(matrix.data(), size, b.data(), cols, kernels, 2, monitor);
      for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(b[i], x[i], 1e-6) << size << " " << i;
    }
  }
}

TEST(Solve, SaysWhatIsNotPositiveDefinite) {
  const Context context;
  const Monitor monitor(context, 1);
  std::vector<double> matrix{1, 2, 2, 1};
  std::vector<double> right{1, 1};
  EXPECT_THROW(solve_positive_definite(matrix.data(), 2, right.data(), 1,
                                       code_kernels(default_isa(), 256), 1, monitor),
               Error);
}

}  // namespace
}  // namespace nearfield
