#include "code/codebook_update.hpp"

#include <algorithm>
#include <vector>

#include "code/gpu/lsq_device.hpp"
#include "code/solve.hpp"
#include "core/aligned_array.hpp"
#include "core/tasks.hpp"

namespace nearfield {
namespace {

// Rows between two looks at the monitor.
constexpr std::int64_t kRowsBetweenChecks = 1 << 16;

struct CodedRows {
  const float* rows;
  std::int64_t count;
  const std::uint8_t* codes;
  const Codebooks& codebooks;

  int code(std::int64_t row, int codebook) const { return codes[row * codebooks.count + codebook]; }
};

// sums[code] = of the rows that have it, in their order; answers how many have each.
std::vector<std::int64_t> sum_rows(const CodedRows& coded, int codebook, double* sums,
                                   const Monitor& monitor) {
  const std::int64_t cols = coded.codebooks.cols;
  std::fill(sums, sums + coded.codebooks.codewords * cols, 0.0);
  std::vector<std::int64_t> counts(static_cast<std::size_t>(coded.codebooks.codewords));
  for (std::int64_t row = 0; row < coded.count; ++row) {
    if (row % kRowsBetweenChecks == 0) monitor.check();
    const int code = coded.code(row, codebook);
    ++counts[static_cast<std::size_t>(code)];
    double* const sum = sums + code * cols;
    const float* const values = coded.rows + row * cols;
    for (std::int64_t i = 0; i < cols; ++i) sum[i] += values[i];
  }
  return counts;
}

// The equations of all codewords: matrix x codewords = right.
struct Equations {
  int words;          // of a codebook
  std::int64_t size;  // of all
  double* matrix;
  double* right;

  // Of two codebooks: how often codes meet.
  template <class Count>
  void set_meetings(int first, int second, const Count* counts) const {
    for (int a = 0; a < words; ++a) {
      double* const to = matrix + (std::int64_t{first} * words + a) * size + second * words;
      for (int b = 0; b < words; ++b) to[b] = counts[a * words + b];
    }
  }

  // Of a codebook with itself: how many rows have each code.
  template <class Count>
  void set_members(int codebook, const Count* counts) const {
    const std::int64_t begin = std::int64_t{codebook} * words;
    for (int a = 0; a < words; ++a) {
      double* const row = matrix + (begin + a) * size + begin;
      std::fill(row, row + words, 0.0);
      row[a] = static_cast<double>(counts[a]) + kNearOld;
    }
  }
};

void count_meetings(const CodedRows& coded, int first, int second, const Equations& to,
                    const Monitor& monitor) {
  const int words = coded.codebooks.codewords;
  std::vector<std::int32_t> counts(static_cast<std::size_t>(words * words));
  for (std::int64_t row = 0; row < coded.count; ++row) {
    if (row % kRowsBetweenChecks == 0) monitor.check();
    ++counts[static_cast<std::size_t>(coded.code(row, first) * words + coded.code(row, second))];
  }
  to.set_meetings(first, second, counts.data());
}

void add_up_rows(const CodedRows& coded, const Equations& to, int threads, const Monitor& monitor) {
  const int m = coded.codebooks.count;
  run_tasks(std::int64_t{m} * m, threads, [&](std::int64_t task, int) {
    const int first = static_cast<int>(task / m);
    const int second = static_cast<int>(task % m);
    if (first < second) return count_meetings(coded, first, second, to, monitor);
    if (first > second) return;
    double* const sums = to.right + std::int64_t{first} * to.words * coded.codebooks.cols;
    to.set_members(first, sum_rows(coded, first, sums, monitor).data());
  });
}

void add_up_on(LsqDevice& device, const CodedRows& coded, const Equations& to,
               const Monitor& monitor) {
  const int m = coded.codebooks.count;
  std::vector<std::uint32_t> members(static_cast<std::size_t>(to.size));
  const auto use = [&](int first, const std::uint32_t* meetings) {
    for (int second = first + 1; second < m; ++second, meetings += to.words * to.words) {
      to.set_meetings(first, second, meetings);
    }
  };
  device.add_up(coded.codebooks, coded.rows, coded.count, coded.codes,
                {to.right, members.data(), use}, monitor);
  for (int k = 0; k < m; ++k) to.set_members(k, members.data() + std::int64_t{k} * to.words);
}

void use_means(const CodedRows& coded, Codebooks& codebooks, const Monitor& monitor) {
  const std::int64_t cols = codebooks.cols;
  AlignedArray<double> sums(codebooks.codewords * cols);
  const auto counts = sum_rows(coded, 0, sums.data(), monitor);
  for (int code = 0; code < codebooks.codewords; ++code) {
    const std::int64_t members = counts[static_cast<std::size_t>(code)];
    if (members == 0) continue;
    for (std::int64_t i = 0; i < cols; ++i) {
      codebooks.word(0, code)[i] =
          static_cast<float>(sums[code * cols + i] / static_cast<double>(members));
    }
  }
}

}  // namespace

std::int64_t codebook_update_bytes(int codebooks, int codewords, std::int64_t cols) {
  const std::int64_t size = std::int64_t{codebooks} * codewords;
  return codebooks == 1 ? 8 * size * cols : 8 * size * (size + cols);
}

void update_codebooks(const float* rows, std::int64_t count, const std::uint8_t* codes,
                      Codebooks& codebooks, const CodeKernels& kernels, int threads,
                      const Monitor& monitor, LsqDevice* device) {
  const CodedRows coded{rows, count, codes, codebooks};
  if (codebooks.count == 1) return use_means(coded, codebooks, monitor);
  const std::int64_t cols = codebooks.cols;
  const std::int64_t size = std::int64_t{codebooks.count} * codebooks.codewords;
  AlignedArray<double> matrix(size * size);
  AlignedArray<double> right(size * cols);
  const Equations equations{codebooks.codewords, size, matrix.data(), right.data()};
  if (device != nullptr) {
    add_up_on(*device, coded, equations, monitor);
  } else {
    add_up_rows(coded, equations, threads, monitor);
  }
  for (std::int64_t i = 0; i < size * cols; ++i) {
    right[i] += kNearOld * codebooks.values[static_cast<std::size_t>(i)];
  }
  solve_positive_definite(matrix.data(), size, right.data(), cols, kernels, threads, monitor);
  for (std::int64_t i = 0; i < size * cols; ++i) {
    codebooks.values[static_cast<std::size_t>(i)] = static_cast<float>(right[i]);
  }
}

}  // namespace nearfield
