#include "code/residual_codes.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "code/k_means.hpp"
#include "core/checked.hpp"
#include "core/tasks.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kBeamRows = 64;  // of a task

// Codebooks with their codewords column by column, so that a loop over codewords is one of vectors;
// each sum is taken column after column, whatever the ISA.
class BeamTables {
 public:
  explicit BeamTables(const Codebooks& codebooks)
      : codebooks_(codebooks), columns_(codebooks.values.size()) {
    const std::int64_t words = codebooks.codewords;
    for (int k = 0; k < codebooks.count; ++k) {
      for (int b = 0; b < codebooks.codewords; ++b) {
        for (std::int64_t i = 0; i < codebooks.cols; ++i) {
          columns_[static_cast<std::size_t>((k * codebooks.cols + i) * words + b)] =
              codebooks.word(k, b)[i];
        }
      }
    }
  }

  const Codebooks& codebooks() const { return codebooks_; }

  // The squared distances of a residual from all codewords.
  void distances(const float* residual, int codebook, float* out) const {
    const std::int64_t words = codebooks_.codewords;
    std::fill(out, out + words, 0.0F);
    const float* column =
        columns_.data() + static_cast<std::int64_t>(codebook) * codebooks_.cols * words;
    for (std::int64_t i = 0; i < codebooks_.cols; ++i, column += words) {
      const float value = residual[i];
      for (std::int64_t b = 0; b < words; ++b) {
        const float difference = value - column[b];
        out[b] += difference * difference;
      }
    }
  }

 private:
  const Codebooks& codebooks_;
  std::vector<float> columns_;
};

struct Extension {
  float distance;
  std::int32_t parent;
  std::int32_t code;

  friend bool operator<(const Extension& a, const Extension& b) {
    if (a.distance != b.distance) return a.distance < b.distance;
    return a.parent != b.parent ? a.parent < b.parent : a.code < b.code;
  }
};

// One vector's beam.
class Beam {
 public:
  Beam(const BeamTables& tables, int width) : tables_(tables), width_(width) {
    extensions_.reserve(static_cast<std::size_t>(width * tables.codebooks().codewords));
  }

  static std::int64_t bytes_for(int width, int codewords, std::int64_t cols) {
    const std::int64_t of_a_sum = std::int64_t{sizeof(Codes)} + 4 * cols;
    // Sums are there twice while they are extended.
    return width * (codewords * std::int64_t{sizeof(Extension)} + 2 * of_a_sum) + 4 * codewords;
  }

  void encode(const float* vector, std::uint8_t* codes) {
    const Codebooks& books = tables_.codebooks();
    residuals_.assign(vector, vector + books.cols);
    kept_.assign(1, {});
    for (int k = 0; k < books.count; ++k) extend(k);
    std::copy_n(kept_.front().begin(), books.count, codes);
  }

 private:
  using Codes = std::array<std::uint8_t, kMostCodebooks>;

  void extend(int k) {
    const Codebooks& books = tables_.codebooks();
    const std::int64_t cols = books.cols;
    extensions_.clear();
    distances_.resize(static_cast<std::size_t>(books.codewords));
    for (std::size_t parent = 0; parent < kept_.size(); ++parent) {
      tables_.distances(residuals_.data() + static_cast<std::int64_t>(parent) * cols, k,
                        distances_.data());
      for (int b = 0; b < books.codewords; ++b) {
        extensions_.push_back(
            {distances_[static_cast<std::size_t>(b)], static_cast<std::int32_t>(parent), b});
      }
    }
    const auto keep = std::min(static_cast<std::ptrdiff_t>(width_), std::ssize(extensions_));
    std::partial_sort(extensions_.begin(), extensions_.begin() + keep, extensions_.end());
    std::vector<Codes> kept(static_cast<std::size_t>(keep));
    std::vector<float> residuals(static_cast<std::size_t>(keep * cols));
    for (std::ptrdiff_t i = 0; i < keep; ++i) {
      const Extension& best = extensions_[static_cast<std::size_t>(i)];
      kept[static_cast<std::size_t>(i)] = kept_[static_cast<std::size_t>(best.parent)];
      kept[static_cast<std::size_t>(i)][static_cast<std::size_t>(k)] =
          static_cast<std::uint8_t>(best.code);
      const float* const from = residuals_.data() + best.parent * cols;
      const float* const word = books.word(k, best.code);
      for (std::int64_t c = 0; c < cols; ++c) {
        residuals[static_cast<std::size_t>(i * cols + c)] = from[c] - word[c];
      }
    }
    kept_.swap(kept);
    residuals_.swap(residuals);
  }

  const BeamTables& tables_;
  const int width_;
  std::vector<Codes> kept_;
  std::vector<float> residuals_;
  std::vector<float> distances_;
  std::vector<Extension> extensions_;
};

}  // namespace

ResidualCodes train_residual(const FloatRows& rows, const QuantizerOptions& options,
                             std::uint64_t seed, const CodeWork& work) {
  const int words = 1 << options.bits;
  ResidualCodes trained{Codebooks(options.codebooks, words, rows.cols)};
  std::vector<float> left(rows.values, rows.values + rows.count * rows.cols);
  const FloatRows residuals{left.data(), rows.count, rows.cols, rows.cols};
  for (int k = 0; k < options.codebooks; ++k) {
    const KMeans means =
        k_means(residuals, words, options.iterations, seed, static_cast<std::uint64_t>(k), work);
    std::copy(means.centroids.begin(), means.centroids.end(), trained.codebooks.word(k, 0));
    for (std::int64_t row = 0; row < rows.count; ++row) {
      if (row % kRowsPerCheck == 0) work.monitor.check();
      const float* const word =
          trained.codebooks.word(k, means.nearest[static_cast<std::size_t>(row)]);
      for (std::int64_t i = 0; i < rows.cols; ++i) {
        left[static_cast<std::size_t>(row * rows.cols + i)] -= word[i];
      }
    }
    trained.error = std::accumulate(means.distances.begin(), means.distances.end(), 0.0) /
                    static_cast<double>(rows.count);
  }
  return trained;
}

void find_residual_codes(const FloatRows& rows, const Codebooks& codebooks, int beam,
                         std::uint8_t* codes, const CodeWork& work) {
  const BeamTables tables(codebooks);
  run_tasks(divide_up(rows.count, kBeamRows), work.threads, [&](std::int64_t task, int) {
    Beam search(tables, beam);
    const std::int64_t end = std::min(rows.count, (task + 1) * kBeamRows);
    for (std::int64_t row = task * kBeamRows; row < end; ++row) {
      work.monitor.check();
      search.encode(rows.row(row), codes + row * codebooks.count);
    }
    work.monitor.advance(end - task * kBeamRows);
  });
}

std::int64_t residual_codes_bytes(int codebooks, int codewords, std::int64_t cols, int beam,
                                  int threads) {
  const std::int64_t tables = std::int64_t{codebooks} * codewords * cols * 4;
  return tables + threads * Beam::bytes_for(beam, codewords, cols);
}

}  // namespace nearfield
