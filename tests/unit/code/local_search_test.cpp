#include "code/local_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include <nearfield/quantize.hpp>

#include "tests/unit/code/code_reference.hpp"

namespace nearfield {
namespace {

struct Searched {
  std::vector<std::uint8_t> codes;
  std::vector<float> costs;
};

Searched run_search(const Codebooks& books, const LocalSearch& search,
                    const std::vector<float>& rows, int threads = 1, Isa isa = default_isa()) {
  const CodeKernels& kernels = code_kernels(isa, books.codewords);
  const Context context;
  Monitor monitor(context, 1);
  const IcmTables tables(books, kernels, threads, monitor);
  const std::int64_t count = std::ssize(rows) / books.cols;
  Searched found{std::vector<std::uint8_t>(static_cast<std::size_t>(count * books.count)),
                 std::vector<float>(static_cast<std::size_t>(count))};
  search_codes(tables, kernels, search, rows.data(), count, StartCodes::random, found.codes.data(),
               found.costs.data(), threads, monitor);
  return found;
}

TEST(CodeDice, PerturbsSoManyDifferentCodebooksEachAsOften) {
  const std::vector<float> vector{1, 2, 3};
  for (const int m : {1, 3, 7, 8, 64}) {
    const int needed = std::min(4, m);
    std::vector<int> hits(static_cast<std::size_t>(m));
    constexpr int kRounds = 20'000;
    const CodeDice dice(5, vector.data(), 3);
    for (int round = 0; round < kRounds; ++round) {
      // No code is 16: what is changed is seen.
      std::vector<std::uint8_t> codes(static_cast<std::size_t>(m), 16);
      dice.perturb(round, 4, m, 16, codes.data());
      int changed = 0;
      for (std::size_t k = 0; k < codes.size(); ++k) {
        hits[k] += codes[k] != 16;
        changed += codes[k] != 16;
      }
      ASSERT_EQ(changed, needed);
    }
    const double expected = kRounds * double(needed) / m;
    for (const int hit : hits) EXPECT_NEAR(hit, expected, 5 * std::sqrt(expected)) << m;
  }
}

TEST(CodeDice, OfMinusZeroAreThoseOfZero) {
  const std::array<float, 3> zeros{0.0F, 4.0F, 0.0F};
  const std::array<float, 3> minus{-0.0F, 4.0F, -0.0F};
  std::array<std::uint8_t, 8> codes{};
  std::array<std::uint8_t, 8> same{};
  CodeDice(5, zeros.data(), 3).start(8, 256, codes.data());
  CodeDice(5, minus.data(), 3).start(8, 256, same.data());
  EXPECT_EQ(same, codes);
  CodeDice(5, zeros.data(), 3).perturb(2, 4, 8, 256, codes.data());
  CodeDice(5, minus.data(), 3).perturb(2, 4, 8, 256, same.data());
  EXPECT_EQ(same, codes);
}

TEST(CodeDice, CodesAreUniform) {
  std::array<int, 256> started{};
  std::array<int, 256> perturbed{};
  for (int i = 0; i < 10'000; ++i) {
    const auto value = static_cast<float>(i);
    const CodeDice dice(5, &value, 1);
    std::array<std::uint8_t, 8> codes{};
    dice.start(8, 256, codes.data());
    for (const auto code : codes) ++started[code];
    dice.perturb(0, 8, 8, 256, codes.data());
    for (const auto code : codes) ++perturbed[code];
  }
  const double expected = 80'000.0 / 256;
  for (const int count : started) EXPECT_NEAR(count, expected, 5 * std::sqrt(expected));
  for (const int count : perturbed) EXPECT_NEAR(count, expected, 5 * std::sqrt(expected));
}

TEST(SweepOrder, IsThatOfTheCodebooksOrAnyOther) {
  LocalSearch search;
  EXPECT_EQ(sweep_order(search, 3, 1, 4), (std::vector<int>{0, 1, 2, 3}));
  search.random_order = true;
  std::set<std::vector<int>> seen;
  for (int round = 0; round < 400; ++round) {
    auto order = sweep_order(search, round, 0, 4);
    seen.insert(order);
    std::sort(order.begin(), order.end());
    ASSERT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
  }
  EXPECT_EQ(seen.size(), 24U);
}

// Unaries and pairs against their definition: sums differ from the distance by a constant.
TEST(IcmTables, SumsAreDistancesLessAConstantInQuanta) {
  for (const int words : {16, 256}) {
    const std::int64_t cols = 21;
    const int m = 5;
    const Codebooks books = test::random_codebooks(m, words, cols);
    const auto rows = test::rows_to_code(kProductVectors, cols);
    const CodeKernels& kernels = code_kernels(default_isa(), words);
    const Context context;
    Monitor monitor(context, 1);
    const IcmTables tables(books, kernels, 1, monitor);
    std::vector<float> centred(static_cast<std::size_t>(tables.padded_cols()));
    std::vector<std::int16_t> rounded(
        static_cast<std::size_t>(kProductVectors * 2 * tables.pairs()));
    std::array<float, kProductVectors> steps{};
    for (std::int64_t v = 0; v < kProductVectors; ++v) {
      tables.centre(rows.data() + v * cols, centred.data());
      steps[static_cast<std::size_t>(v)] =
          tables.round(centred.data(), rounded.data() + v * 2 * tables.pairs());
    }
    std::vector<std::int32_t> products(static_cast<std::size_t>(kProductVectors * words));
    std::vector<std::uint16_t> unaries(products.size());
    const std::vector<std::uint8_t> codes{3, 9, 0, 15, 7};
    for (int target = 0; target < m; ++target) {
      tables.unaries(rounded.data(), steps.data(), target, products.data(), unaries.data(), words);
      for (std::int64_t v = 0; v < kProductVectors; ++v) {
        double offset = 0;
        for (int b = 0; b < words; ++b) {
          auto tried = codes;
          tried[static_cast<std::size_t>(target)] = static_cast<std::uint8_t>(b);
          double sum = unaries[static_cast<std::size_t>(v * words + b)];
          for (int other = 0, slot = 0; other < m; ++other) {
            if (other == target) continue;
            sum += tables.pair_rows(
                target)[(slot++ * words + codes[static_cast<std::size_t>(other)]) * words + b];
          }
          if (sum >= 60'000) continue;  // may have been cut off
          const double distance =
              test::reference_cost(books, rows.data() + v * cols, tried.data()) / tables.quantum();
          if (offset == 0) offset = distance - sum;
          // Half a quantum a term, and what the integers lose.
          ASSERT_NEAR(distance - sum, offset, m + 2.0) << target << " " << v << " " << b;
        }
      }
    }
  }
}

// Of more than 8 codebooks of 256 tables lie by halves.
TEST(LocalSearch, FindsWhatTheReferenceFindsButForRounding) {
  for (const auto& [m, words] : {std::pair{6, 16}, {6, 256}, {12, 256}}) {
    const Codebooks books = test::random_codebooks(m, words, 24);
    const auto rows = test::rows_to_code(100, 24);
    LocalSearch search{.rounds = 4, .sweeps = 3, .perturbed = 2, .random_order = false, .seed = 9};
    for (const bool random_order : {false, true}) {
      search.random_order = random_order;
      const Searched found = run_search(books, search, rows);
      double ours = 0;
      double reference = 0;
      int different = 0;
      for (std::int64_t v = 0; v < 100; ++v) {
        std::array<std::uint8_t, 12> codes{};
        const float* const x = rows.data() + v * 24;
        test::reference_search(books, search, x, codes.data());
        different += !std::equal(codes.begin(), codes.begin() + m, found.codes.begin() + v * m);
        reference += test::reference_cost(books, x, codes.data());
        const double cost = test::reference_cost(books, x, found.codes.data() + v * m);
        ours += cost;
        EXPECT_NEAR(found.costs[static_cast<std::size_t>(v)], cost, 1e-4 * cost);
      }
      EXPECT_LE(different, 10) << words;
      // Who takes the other of two equal codes goes another way from there: not worse on average.
      EXPECT_LE(std::abs(ours - reference), 1e-2 * reference) << words;
    }
  }
}

// Fixed point against float64, with codebooks that fit the rows: less than 0.1 % of the error.
TEST(LocalSearch, FixedPointLosesLessThanAThousandth) {
  const std::int64_t cols = 16;
  const auto rows = test::rows_to_code(400, cols);
  // Rows themselves, halved: sums come close.
  Codebooks books(2, 256, cols);
  for (int k = 0; k < 2; ++k) {
    for (int b = 0; b < 256; ++b) {
      for (std::int64_t i = 0; i < cols; ++i) {
        books.word(k, b)[i] =
            (k == 0 ? 0.8F : 0.2F) * rows[static_cast<std::size_t>((b + 100 * k) * cols + i)];
      }
    }
  }
  const LocalSearch search{
      .rounds = 8, .sweeps = 4, .perturbed = 2, .random_order = false, .seed = 3};
  const Searched found = run_search(books, search, rows);
  double ours = 0;
  double reference = 0;
  for (std::int64_t v = 0; v < 400; ++v) {
    std::array<std::uint8_t, 2> codes{};
    test::reference_search(books, search, rows.data() + v * cols, codes.data());
    reference += test::reference_cost(books, rows.data() + v * cols, codes.data());
    ours += test::reference_cost(books, rows.data() + v * cols, found.codes.data() + v * 2);
  }
  EXPECT_LT(ours, 1.001 * reference);
}

// Of 8 codebooks that were trained, on other rows. Where two codes are nearly as good, fixed point
// may take the other one and go another way from there, to better or worse, which on some hundred
// rows is more than what it loses. So what it loses is what float64 finds better around its codes.
TEST(LocalSearch, FixedPointOfTrainedCodebooksLosesLessThanAThousandth) {
  constexpr int kBooks = 8;
  constexpr std::int64_t kCols = 32;
  constexpr std::int64_t kTrained = 1'000;
  constexpr std::int64_t kOthers = 300;
  const auto rows = test::rows_to_code(kTrained + kOthers, kCols);
  QuantizerOptions options;
  options.codebooks = kBooks;
  options.bits = 4;
  options.iterations = 6;
  options.train_rounds = 2;
  const Quantizer quantizer =
      Quantizer::train(MatrixView(rows.data(), kTrained, kCols), options, {.seed = 1});
  Codebooks books(kBooks, 16, kCols);
  const MatrixView words = quantizer.codebooks();
  std::copy_n(reinterpret_cast<const float*>(words.row(0)), words.rows() * kCols,
              books.values.begin());
  const std::vector<float> others(rows.begin() + kTrained * kCols, rows.end());
  // So many sweeps that no code changes in the last.
  const LocalSearch search{
      .rounds = 6, .sweeps = 12, .perturbed = 4, .random_order = false, .seed = 7};
  const Searched found = run_search(books, search, others);
  double ours = 0;
  double better = 0;
  double reference = 0;
  for (std::int64_t v = 0; v < kOthers; ++v) {
    const float* const x = others.data() + v * kCols;
    std::array<std::uint8_t, kBooks> codes{};
    std::copy_n(found.codes.begin() + v * kBooks, kBooks, codes.begin());
    ours += test::reference_cost(books, x, codes.data());
    for (int step = 0; step < 4 * kBooks; ++step) {
      const int k = step % kBooks;
      codes[static_cast<std::size_t>(k)] =
          static_cast<std::uint8_t>(test::reference_best_code(books, x, codes.data(), k));
    }
    better += test::reference_cost(books, x, codes.data());
    test::reference_search(books, search, x, codes.data());
    reference += test::reference_cost(books, x, codes.data());
  }
  EXPECT_LT(ours, 1.001 * better);
  EXPECT_LT(ours, 1.01 * reference);
}

// A sweep in fixed point: the sum that a step chooses is never above the one it had.
TEST(LocalSearch, TheObjectiveNeverGrowsInASweep) {
  const int m = 6;
  const int words = 256;
  const std::int64_t cols = 24;
  const Codebooks books = test::random_codebooks(m, words, cols);
  const auto rows = test::rows_to_code(kProductVectors, cols);
  const CodeKernels& kernels = code_kernels(default_isa(), words);
  const Context context;
  Monitor monitor(context, 1);
  const IcmTables tables(books, kernels, 1, monitor);
  std::vector<std::vector<std::uint16_t>> unaries(m);
  std::vector<float> centred(static_cast<std::size_t>(tables.padded_cols()));
  std::vector<std::int16_t> rounded(static_cast<std::size_t>(kProductVectors * 2 * tables.pairs()));
  std::array<float, kProductVectors> steps{};
  for (std::int64_t v = 0; v < kProductVectors; ++v) {
    tables.centre(rows.data() + v * cols, centred.data());
    steps[static_cast<std::size_t>(v)] =
        tables.round(centred.data(), rounded.data() + v * 2 * tables.pairs());
  }
  std::vector<std::int32_t> products(static_cast<std::size_t>(kProductVectors * words));
  for (int k = 0; k < m; ++k) {
    unaries[static_cast<std::size_t>(k)].resize(static_cast<std::size_t>(kProductVectors * words));
    tables.unaries(rounded.data(), steps.data(), k, products.data(),
                   unaries[static_cast<std::size_t>(k)].data(), words);
  }
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(kProductVectors * m), 77);
  std::vector<std::uint64_t> stale(kProductVectors);
  const std::vector<std::int32_t> all{0, 1, 2, 3};
  int changes = 0;
  for (int step = 0; step < 4 * m; ++step) {
    const int k = step % m;
    const auto sum = [&](std::int64_t v, int code) {
      std::int64_t total =
          unaries[static_cast<std::size_t>(k)][static_cast<std::size_t>(v * words + code)];
      for (int other = 0, slot = 0; other < m; ++other) {
        if (other == k) continue;
        const int its = codes[static_cast<std::size_t>(v * m + other)];
        total += tables.pair_rows(k)[(slot++ * words + its) * words + code];
      }
      return total;
    };
    const auto before = codes;
    kernels.icm_step({m, k, tables.pair_rows(k), unaries[static_cast<std::size_t>(k)].data(),
                      codes.data(), stale.data(), all.data(), kProductVectors, nullptr});
    for (std::int64_t v = 0; v < kProductVectors; ++v) {
      const auto at = static_cast<std::size_t>(v * m + k);
      EXPECT_LE(sum(v, codes[at]), sum(v, before[at]));
      const double quanta = 2.0 * (m + 2);
      EXPECT_LE(test::reference_cost(books, rows.data() + v * cols, codes.data() + v * m),
                test::reference_cost(books, rows.data() + v * cols, before.data() + v * m) +
                    quanta * tables.quantum());
      changes += codes[at] != before[at];
    }
  }
  EXPECT_GT(changes, 4);
}

TEST(LocalSearch, CodesAreTheSameAloneInABatchOnAnyIsaAndThreads) {
  for (const auto& [m, words] : {std::pair{5, 16}, {5, 256}, {9, 256}}) {
    const Codebooks books = test::random_codebooks(m, words, 19);
    const auto rows = test::rows_to_code(2100, 19);
    const LocalSearch search{
        .rounds = 2, .sweeps = 2, .perturbed = 4, .random_order = true, .seed = 1};
    const Searched all = run_search(books, search, rows);
    EXPECT_EQ(run_search(books, search, rows, 3).codes, all.codes);
    LocalSearch fewer = search;
    fewer.batch = 70;
    EXPECT_EQ(run_search(books, fewer, rows, 2).codes, all.codes);
    const std::vector<float> last(rows.end() - 5 * 19, rows.end());
    for (const Isa isa : available_isas()) {
      const Searched few = run_search(books, search, last, 1, isa);
      EXPECT_TRUE(std::equal(few.codes.begin(), few.codes.end(), all.codes.end() - 5 * m))
          << to_string(isa);
      EXPECT_TRUE(std::equal(few.costs.begin(), few.costs.end(), all.costs.end() - 5))
          << to_string(isa);
    }
  }
}

TEST(LocalSearch, BatchesGrowWhereThereIsRoom) {
  const std::int64_t usual = LocalSearch{}.batch;
  EXPECT_EQ(batch_within(0, 8, 256, 128, 2), usual);
  const std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(batch_within(no_limit, 8, 256, 128, 2), 8192);
  EXPECT_EQ(batch_within(no_limit, 32, 256, 128, 2), 4096);
  EXPECT_EQ(batch_within(no_limit, 64, 256, 128, 2), usual);
  const std::int64_t some = batch_within(10'000'000, 8, 256, 128, 2);
  EXPECT_GT(some, usual + 900);  // of 2 threads, and some 5,000 bytes a vector
  EXPECT_LT(some, usual + 1'100);
}

TEST(LocalSearch, MoreRoundsNeverCostMore) {
  const Codebooks books = test::random_codebooks(4, 16, 10);
  const auto rows = test::rows_to_code(50, 10);
  std::vector<float> before(50, HUGE_VALF);
  for (const int rounds : {0, 1, 4, 16}) {
    const LocalSearch search{
        .rounds = rounds, .sweeps = 4, .perturbed = 2, .random_order = false, .seed = 1};
    const Searched found = run_search(books, search, rows);
    for (std::size_t v = 0; v < 50; ++v) EXPECT_LE(found.costs[v], before[v]);
    before = found.costs;
  }
}

}  // namespace
}  // namespace nearfield
