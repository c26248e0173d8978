#include "code/train_lsq.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "code/codebook_update.hpp"
#include "code/gpu/lsq_device.hpp"
#include "code/icm_tables.hpp"
#include "code/nearest_centroids.hpp"
#include "core/random.hpp"
#include "core/tasks.hpp"

namespace nearfield {
namespace {

// The streams of a seed: local search takes one for each iteration, noise another.
constexpr std::uint64_t kNoiseStream = std::uint64_t{1} << 32;

std::uint64_t seed_of(std::uint64_t seed, std::size_t iteration) {
  return Random(seed, iteration + 1).next_u64();
}

std::vector<double> deviations(const FloatRows& rows, const Monitor& monitor) {
  std::vector<double> sums(static_cast<std::size_t>(rows.cols));
  std::vector<double> squares(sums.size());
  for (std::int64_t row = 0; row < rows.count; ++row) {
    if (row % kRowsPerCheck == 0) monitor.check();
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const double value = rows.row(row)[i];
      sums[i] += value;
      squares[i] += value * value;
    }
  }
  const auto count = static_cast<double>(rows.count);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const double mean = sums[i] / count;
    sums[i] = std::sqrt(std::max(0.0, squares[i] / count - mean * mean));
  }
  return sums;
}

// One codebook is k-means, whose codes are exact: there is nothing that noise could lead out of.
Relaxation relaxation_of(const QuantizerOptions& options) {
  return options.codebooks == 1 ? Relaxation::none : options.relaxation;
}

// T(i) of LSQ++: from nearly 1 down to 0 in the last iteration. Its exponent is 0.5, and not a
// power but a root: IEEE 754 says all bits of a root, while those of pow are the C library's.
double temperature(std::size_t iteration, int iterations) {
  return std::sqrt(1 - static_cast<double>(iteration + 1) / iterations);
}

// Adds normal noise, column by column of that deviation times `factor`.
void add_noise(float* values, std::int64_t rows, const std::vector<double>& deviation,
               double factor, std::uint64_t seed, std::size_t iteration, const CodeWork& work) {
  const auto cols = static_cast<std::int64_t>(deviation.size());
  constexpr std::int64_t kRowsOfATask = 256;
  run_tasks((rows + kRowsOfATask - 1) / kRowsOfATask, work.threads, [&](std::int64_t task, int) {
    work.monitor.check();
    Random random(seed, kNoiseStream * (iteration + 1) + static_cast<std::uint64_t>(task));
    const std::int64_t end = std::min(rows, (task + 1) * kRowsOfATask);
    for (std::int64_t row = task * kRowsOfATask; row < end; ++row) {
      for (std::int64_t i = 0; i < cols; ++i) {
        values[row * cols + i] +=
            static_cast<float>(factor * deviation[static_cast<std::size_t>(i)] * random.normal());
      }
    }
  });
}

}  // namespace

void find_lsq_codes(const FloatRows& rows, const Codebooks& codebooks, const LocalSearch& search,
                    StartCodes start, std::uint8_t* codes, float* costs, const CodeWork& work) {
  if (work.device != nullptr) {
    work.device->load(codebooks, rows.count, work.monitor);
    return work.device->search(search, rows.values, rows.count, start, codes, costs, work.monitor);
  }
  if (codebooks.count > 1) {
    const IcmTables tables(codebooks, work.kernels, work.threads, work.monitor);
    return search_codes(tables, work.kernels, search, rows.values, rows.count, start, codes, costs,
                        work.threads, work.monitor);
  }
  std::vector<double> distances(static_cast<std::size_t>(costs != nullptr ? rows.count : 0));
  const NearestCentroids nearest(
      {codebooks.values.data(), codebooks.codewords, rows.cols, rows.cols}, work.kernels);
  find_nearest(rows, nearest, codes, 1, costs != nullptr ? distances.data() : nullptr, work);
  for (std::size_t i = 0; i < distances.size(); ++i) costs[i] = static_cast<float>(distances[i]);
  work.monitor.advance(rows.count);
}

LsqState begin_lsq(const FloatRows& rows, const QuantizerOptions& options, std::uint64_t seed,
                   const CodeWork& work) {
  LsqState state;
  const int words = 1 << options.bits;
  state.codebooks = Codebooks(options.codebooks, words, rows.cols);
  state.codes.resize(static_cast<std::size_t>(rows.count * options.codebooks));
  // Here a code hangs on the row's place, so that equal rows do not all begin alike.
  Random random(seed);
  for (std::size_t i = 0; i < state.codes.size(); ++i) {
    if (i % (std::size_t{kRowsPerCheck} * kMostCodebooks) == 0) work.monitor.check();
    state.codes[i] = static_cast<std::uint8_t>(random.below(words));
  }
  update_codebooks(rows.values, rows.count, state.codes.data(), state.codebooks, work.kernels,
                   work.threads, work.monitor, work.device);
  return state;
}

void step_lsq(LsqState& state, const FloatRows& rows, const QuantizerOptions& options,
              std::uint64_t seed, const CodeWork& work) {
  const std::size_t iteration = state.errors.size();
  const double heat = temperature(iteration, options.iterations);
  const Relaxation relaxation = relaxation_of(options);
  Codebooks noisy;
  if (relaxation == Relaxation::codebooks) {
    noisy = state.codebooks;
    add_noise(noisy.values.data(), noisy.count * noisy.codewords, deviations(rows, work.monitor),
              heat / noisy.count, seed, iteration, work);
  }
  const LocalSearch search{
      .rounds = options.train_rounds,
      .sweeps = options.sweeps,
      .perturbed = options.perturbed,
      .random_order = options.random_order,
      .seed = seed_of(seed, iteration),
      .batch = batch_within(work.spare_bytes, options.codebooks, state.codebooks.codewords,
                            rows.cols, work.threads)};
  std::vector<float> costs(static_cast<std::size_t>(rows.count));
  find_lsq_codes(rows, noisy.count > 0 ? noisy : state.codebooks, search, StartCodes::given,
                 state.codes.data(), costs.data(), work);
  state.errors.push_back(std::accumulate(costs.begin(), costs.end(), 0.0) /
                         static_cast<double>(rows.count));
  std::vector<float> moved;
  if (relaxation == Relaxation::rows) {
    moved.assign(rows.values, rows.values + rows.count * rows.cols);
    add_noise(moved.data(), rows.count, deviations(rows, work.monitor), heat, seed, iteration,
              work);
  }
  update_codebooks(moved.empty() ? rows.values : moved.data(), rows.count, state.codes.data(),
                   state.codebooks, work.kernels, work.threads, work.monitor, work.device);
}

std::int64_t train_lsq_bytes(const QuantizerOptions& options, std::int64_t count, std::int64_t cols,
                             int threads, bool on_device) {
  const int m = options.codebooks;
  const int words = 1 << options.bits;
  const std::int64_t searching = on_device ? LsqDevice::loading_bytes(m, words, cols)
                                           : IcmTables::bytes_for(m, words, cols) +
                                                 local_search_bytes(m, words, cols, threads);
  const std::int64_t copied = relaxation_of(options) == Relaxation::rows ? count * cols * 4 : 0;
  const std::int64_t updating = codebook_update_bytes(m, words, cols) + copied +
                                (on_device ? LsqDevice::adding_bytes(m, words) : 0);
  const std::int64_t of_a_row = m + 4 + (m == 1 ? 8 : 0);  // its code, its cost; and its distance
  return std::max(searching, updating) + count * of_a_row + 2 * 4 * words * cols * m;
}

}  // namespace nearfield
