#include <nearfield/select.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <nearfield/results.hpp>

#include "core/random.hpp"
#include "tests/unit/expect_error.hpp"

namespace nearfield {
namespace {

using test::expect_error;

constexpr double kInf = INFINITY;
constexpr std::int64_t kMaxId = std::numeric_limits<std::int64_t>::max();

// Rows with `gap` values after each that must not be read: they would come first.
template <class T>
struct Rows {
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t gap;
  std::vector<T> values;

  template <class Make>
  Rows(std::int64_t rows, std::int64_t cols, std::int64_t gap, bool largest, Make make)
      : rows(rows), cols(cols), gap(gap) {
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t i = 0; i < cols; ++i) values.push_back(static_cast<T>(make(row, i)));
      values.insert(values.end(), static_cast<std::size_t>(gap),
                    static_cast<T>(largest ? kInf : -kInf));
    }
  }

  double at(std::int64_t row, std::int64_t i) const {
    return static_cast<double>(values[static_cast<std::size_t>(row * (cols + gap) + i)]);
  }
  ValuesView view() const {
    const auto stride = (cols + gap) * static_cast<std::int64_t>(sizeof(T));
    return {values.data(), rows, cols, gap == 0 ? 0 : stride};
  }
};

std::int64_t id_at(std::span<const std::int64_t> ids, std::int64_t cols, std::int64_t row,
                   std::int64_t i) {
  if (ids.empty()) return i;
  const bool shared = static_cast<std::int64_t>(ids.size()) == cols;
  return ids[static_cast<std::size_t>(shared ? i : row * cols + i)];
}

// The definition: each row sorted whole. Keys are the values, negated for `largest`.
template <class T>
std::vector<std::vector<Neighbor>> sort_rows(const Rows<T>& rows, const SelectOptions& options) {
  std::vector<std::vector<Neighbor>> sorted(static_cast<std::size_t>(rows.rows));
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    std::vector<Neighbor>& all = sorted[static_cast<std::size_t>(row)];
    for (std::int64_t i = 0; i < rows.cols; ++i) {
      const double value = rows.at(row, i);
      if (std::isnan(value)) continue;
      all.push_back({options.largest ? -value : value, id_at(options.ids, rows.cols, row, i)});
    }
    std::sort(all.begin(), all.end());
  }
  return sorted;
}

std::vector<Neighbor> found_row(const Selected& found, std::int64_t row,
                                const SelectOptions& options) {
  std::vector<Neighbor> best;
  for (std::int64_t i = 0; i < found.counts[static_cast<std::size_t>(row)]; ++i) {
    const double value = found.values_of(row)[static_cast<std::size_t>(i)];
    EXPECT_FALSE(value == 0 && std::signbit(value));
    best.push_back(
        {options.largest ? -value : value, found.ids_of(row)[static_cast<std::size_t>(i)]});
  }
  if (!options.sorted) std::sort(best.begin(), best.end());
  return best;
}

void expect_padding(const Selected& found, std::int64_t row, bool largest) {
  for (std::int64_t i = found.counts[static_cast<std::size_t>(row)]; i < found.k; ++i) {
    ASSERT_EQ(found.ids_of(row)[static_cast<std::size_t>(i)], kNoId);
    ASSERT_EQ(found.values_of(row)[static_cast<std::size_t>(i)], largest ? -kInf : kInf);
  }
}

template <class T>
void expect_head(const std::vector<std::vector<Neighbor>>& sorted, const Rows<T>& rows,
                 const SelectOptions& options, const Context& context) {
  const Selected found = select_k(rows.view(), options, context);
  ASSERT_EQ(found.rows, rows.rows);
  ASSERT_EQ(found.k, options.k);
  ASSERT_EQ(found.counts.size(), static_cast<std::size_t>(rows.rows));
  ASSERT_EQ(found.ids.size(), static_cast<std::size_t>(rows.rows * options.k));
  ASSERT_EQ(found.values.size(), found.ids.size());
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    const std::vector<Neighbor>& all = sorted[static_cast<std::size_t>(row)];
    const auto kept = std::min(std::ssize(all), options.k);
    ASSERT_EQ(found_row(found, row, options), std::vector(all.begin(), all.begin() + kept))
        << "row " << row << " of " << rows.rows << " x " << rows.cols << ", k " << options.k
        << ", largest " << options.largest << ", sorted " << options.sorted << ", ids "
        << options.ids.size() << ", threads " << context.threads << ", bytes " << sizeof(T);
    expect_padding(found, row, options.largest);
  }
}

template <class T>
void expect_definition(const Rows<T>& rows, const SelectOptions& options, const Context& context) {
  expect_head(sort_rows(rows, options), rows, options, context);
}

// Ids out of order, with repeats, negative ones and the largest.
std::vector<std::int64_t> make_ids(std::int64_t count) {
  Random random(77);
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < count; ++i) ids.push_back(random.below(count) - count / 2);
  if (count > 0) ids.back() = kMaxId;
  return ids;
}

// Every k, direction, order and kind of ids.
template <class T, class Make>
void sweep(std::int64_t rows, std::int64_t cols, std::int64_t gap, std::vector<int> threads,
           Make make) {
  for (const bool largest : {false, true}) {
    const Rows<T> values(rows, cols, gap, largest, make);
    for (const std::int64_t id_count : std::set<std::int64_t>{0, cols, rows * cols}) {
      const std::vector<std::int64_t> ids = make_ids(id_count);
      SelectOptions options{.largest = largest, .ids = ids};
      const auto sorted = sort_rows(values, options);
      for (const std::int64_t k : std::initializer_list<std::int64_t>{
               0, 1, 2, 10, 100, std::max<std::int64_t>(cols - 1, 0), cols, cols + 5}) {
        options.k = k;
        for (const int count : threads) {
          for (const bool in_order : {true, false}) {
            options.sorted = in_order;
            expect_head(sorted, values, options, {.threads = count});
          }
        }
      }
    }
  }
}

template <class Make>
void sweep_types(std::int64_t rows, std::int64_t cols, Make make) {
  for (const std::int64_t gap : {0, 3}) {
    sweep<float>(rows, cols, gap, {1}, make);
    sweep<double>(rows, cols, gap, {1}, make);
  }
}

// NaN, both infinities, both zeros and small numbers with many ties.
double awkward(Random& random) {
  constexpr double kValues[] = {NAN, kInf, -kInf, 0.0, -0.0, 1, -1, 2, 1e-42};
  return kValues[random.below(std::ssize(kValues))];
}

TEST(SelectK, EqualsAFullSort) {
  for (const std::int64_t cols : {0, 1, 2, 37, 1'500}) {
    Random random(static_cast<std::uint64_t>(cols));
    sweep_types(3, cols, [&](std::int64_t, std::int64_t) { return random.normal(); });
  }
}

TEST(SelectK, EqualsAFullSortOfAwkwardValues) {
  for (const std::int64_t cols : {1, 9, 1'500}) {
    Random random(static_cast<std::uint64_t>(cols));
    sweep_types(3, cols, [&](std::int64_t, std::int64_t) { return awkward(random); });
    sweep_types(2, cols, [](std::int64_t, std::int64_t) { return 4.0; });
    sweep_types(2, cols, [](std::int64_t, std::int64_t) { return NAN; });
    sweep_types(2, cols, [](std::int64_t row, std::int64_t) { return row == 0 ? kInf : -kInf; });
  }
}

TEST(SelectK, EqualsAFullSortOfSortedInput) {
  sweep_types(2, 1'500, [](std::int64_t row, std::int64_t i) {
    return static_cast<double>(row == 0 ? i : -i);
  });
}

TEST(SelectK, ManyRowsOverThreads) {
  Random random(5);
  sweep<float>(1'000, 50, 0, {1, 2, 7},
               [&](std::int64_t, std::int64_t) { return awkward(random); });
}

TEST(SelectK, FewLongRowsOverThreads) {
  Random random(6);
  sweep<float>(1, 200'000, 0, {1, 2, 7},
               [&](std::int64_t, std::int64_t) { return static_cast<double>(random.below(999)); });
  // The last two of nine rows are cut where there are seven threads.
  const Rows<double> rows(9, 140'001, 1, false,
                          [&](std::int64_t, std::int64_t) { return random.normal(); });
  for (const std::int64_t k : {10, 50'000}) expect_definition(rows, {.k = k}, {.threads = 7});
}

TEST(SelectK, OneLongRowIsCut) {
  const std::vector<float> row(200'000);
  const auto parts = [&](int threads) {
    return select_k({row.data(), 1, 200'000}, {}, {.threads = threads}).stats.plan.row_parts;
  };
  EXPECT_EQ(parts(1), 1);
  EXPECT_EQ(parts(2), 3);
}

// The one pair that the small buffers cannot tell from "nothing yet".
TEST(SelectK, TheLastPairOfTheOrderIsReturned) {
  for (const bool largest : {false, true}) {
    Rows<float> rows(1, 300'000, 0, largest, [](std::int64_t, std::int64_t) { return NAN; });
    const std::vector<std::int64_t> ids(300'000, kMaxId);
    for (const std::size_t i : {5u, 150'000u, 299'999u}) {
      rows.values[i] = static_cast<float>(largest ? -kInf : kInf);
    }
    for (const std::int64_t k : {2, 3, 4}) {
      expect_definition(rows, {.k = k, .largest = largest, .ids = ids}, {.threads = 2});
    }
  }
}

// What a running threshold likes least: everything comes before it, nothing is after it, nothing is
// there, or a few distinct values.
double adversarial(std::int64_t shape, std::int64_t i, std::int64_t cols) {
  switch (shape) {
    case 0:
      return static_cast<double>(cols - i);
    case 1:
      return static_cast<double>(i);
    case 2:
      return 4;
    case 3:
      return -kInf;
    case 4:
      return i % 5 == 0 ? -0.0 : 0.0;
    case 5:
      return i % 1'000 == 999 ? kInf : NAN;
    case 6:  // descending by a chunk, each of which is random
      return static_cast<double>(cols - i) * Random(3, static_cast<std::uint64_t>(i)).uniform();
    default:
      return static_cast<double>(i % 10);
  }
}

TEST(SelectK, AdversarialShapesOnEveryIsa) {
  constexpr std::int64_t kShapes = 8;
  constexpr std::int64_t kCols = 150'001;  // more than a chunk, and no whole block
  const std::vector<std::int64_t> ids = make_ids(kCols);
  for (const bool largest : {false, true}) {
    for (std::int64_t shape = 0; shape < kShapes; ++shape) {
      const Rows<float> rows(1, kCols, 0, largest, [&](std::int64_t, std::int64_t i) {
        return adversarial(shape, i, kCols) * (largest ? -1 : 1);
      });
      for (const bool with_ids : {false, true}) {
        SelectOptions options{.largest = largest};
        if (with_ids) options.ids = ids;
        const auto sorted = sort_rows(rows, options);
        // 2,343 is where filtering ends.
        for (const std::int64_t k :
             std::initializer_list<std::int64_t>{1, 128, 2'342, 2'343, 75'000, kCols - 1, kCols}) {
          options.k = k;
          for (const Isa isa : available_isas()) {
            expect_head(sorted, rows, options, {.threads = 1, .isa = isa});
          }
          expect_head(sorted, rows, options, {.threads = 2});
        }
      }
    }
  }
}

TEST(SelectK, ThePlanNamesTheIsa) {
  const std::vector<float> values(12);
  for (const Isa isa : available_isas()) {
    const Plan plan = select_k({values.data(), 3, 4}, {}, {.isa = isa}).stats.plan;
    EXPECT_EQ(plan.isa, isa);
    EXPECT_EQ(plan.kernel, "select/f32/" + std::string(to_string(isa)));
  }
}

TEST(SelectK, TakesMatricesAndEmptyOnes) {
  Matrix matrix(DType::f64, 2, 3, Matrix::Layout::aligned_rows);
  const double first[] = {3, 1, 2};
  std::memcpy(matrix.row(0), first, sizeof(first));
  const Selected found = select_k(matrix, {.k = 2});
  EXPECT_EQ(found.ids, (std::vector<std::int64_t>{1, 2, 0, 1}));
  EXPECT_EQ(found.values, (std::vector<double>{1, 2, 0, 0}));
  EXPECT_EQ(select_k(MatrixView(), {.k = 2}).ids.size(), 0u);
}

TEST(SelectK, StopsWhenToldTo) {
  const std::vector<float> values(1'000'000);
  const ValuesView view(values.data(), 1, 1'000'000);
  Context cancelled;
  cancelled.cancel.cancel();
  expect_error([&] { select_k(view, {}, cancelled); }, ErrorCode::cancelled, {"1000000"});

  Context midway{.threads = 2};
  midway.progress = [&](const Progress& progress) {
    if (progress.done < progress.total) midway.cancel.cancel();
  };
  expect_error([&] { select_k(view, {}, midway); }, ErrorCode::cancelled, {"1000000"});

  Context late;
  late.deadline = std::chrono::steady_clock::now();
  expect_error([&] { select_k(view, {}, late); }, ErrorCode::deadline_exceeded, {"1000000"});
}

TEST(SelectK, ReportsProgressToTheEnd) {
  const std::vector<float> values(600'000);
  std::int64_t last = 0;
  Context context{.threads = 2};
  context.progress = [&](const Progress& progress) {
    EXPECT_GE(progress.done, last);
    EXPECT_EQ(progress.total, 600'000);
    last = progress.done;
  };
  select_k({values.data(), 3, 200'000}, {}, context);
  EXPECT_EQ(last, 600'000);
}

TEST(SelectK, WorkIsCutToTheMemoryLimit) {
  Random random(8);
  const Rows<float> rows(1, 400'000, 0, false,
                         [&](std::int64_t, std::int64_t) { return random.normal(); });
  for (const std::int64_t k : {1'000, 300'000}) {
    Context context{.threads = 7};
    const Plan free = select_k(rows.view(), {.k = k}, context).stats.plan;
    context.threads = 1;
    const Plan least = select_k(rows.view(), {.k = k}, context).stats.plan;
    context.threads = 7;
    EXPECT_GT(free.working_bytes, least.working_bytes);
    context.memory_limit = least.result_bytes + least.working_bytes;
    const Plan cut = select_k(rows.view(), {.k = k}, context).stats.plan;
    EXPECT_LE(cut.result_bytes + cut.working_bytes, *context.memory_limit);
    expect_definition(rows, {.k = k}, context);
    --*context.memory_limit;
    expect_error([&] { select_k(rows.view(), {.k = k}, context); }, ErrorCode::memory_limit,
                 {std::to_string(*context.memory_limit), std::to_string(*context.memory_limit + 1),
                  "400000"});
  }
}

TEST(SelectK, ErrorsHoldTheNumbers) {
  const std::vector<float> values(12);
  const ValuesView view(values.data(), 3, 4);
  const std::vector<std::int64_t> ids(7);
  const auto invalid = ErrorCode::invalid_argument;
  expect_error([&] { select_k(view, {.ids = ids}); }, invalid,
               {"expected no ids, 4 (one a column) or 12 (one a value of 3 x 4), got 7"});
  expect_error([&] { select_k(view, {.k = -3}); }, invalid, {"-3"});
  expect_error([&] { select_k(view, {}, {.threads = -1}); }, invalid, {"-1"});
  expect_error([&] { select_k(Matrix(DType::u8, 3, 4)); }, invalid, {"f32 or f64", "3 x 4 of u8"});
  expect_error([&] { ValuesView(values.data(), 3, 4, 15); }, invalid, {"16", "15"});
  expect_error([&] { ValuesView(values.data(), -3, 4); }, invalid, {"-3 x 4"});
  const float* const null = nullptr;
  expect_error([&] { ValuesView(null, 3, 4); }, invalid, {"null", "3 rows x 4"});
  expect_error([&] { select_k(view, {.k = kMaxId}); }, invalid, {"rows x k", "63 bits"});
}

}  // namespace
}  // namespace nearfield
