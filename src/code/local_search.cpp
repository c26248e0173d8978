#include "code/local_search.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "core/checked.hpp"
#include "core/random.hpp"
#include "core/tasks.hpp"

namespace nearfield {
namespace {

constexpr std::uint32_t kStartRound = 0xffffffff;

// Of a batch. More vectors gain little, more bytes are not in L3 any more.
constexpr std::int64_t kMostVectors = 8192;
constexpr std::int64_t kMostUnaryBytes = 1 << 26;

std::uint8_t code_of(std::uint32_t bits, int codewords) {
  return static_cast<std::uint8_t>(bits & static_cast<unsigned>(codewords - 1));
}

// Vectors of a batch: as many batches for each thread, so that none waits for another, of vectors
// whose unaries are made together.
std::int64_t batch_size(std::int64_t count, std::int64_t most, int threads) {
  const std::int64_t batches = round_up(divide_up(count, most), threads);
  return round_up(divide_up(count, batches), kProductVectors);
}

// The scratch of a worker, and a batch in it.
class Batch {
 public:
  Batch(const IcmTables& tables, const CodeKernels& kernels, std::int64_t most)
      : tables_(tables),
        kernels_(kernels),
        m_(tables.codebooks()),
        words_(tables.codewords()),
        most_(most),
        centred_(most * tables.padded_cols()),
        unaries_(most * m_ * words_),
        rounded_(static_cast<std::size_t>(kProductVectors * 2 * tables.pairs())),
        products_(static_cast<std::size_t>(kProductVectors * words_)),
        codes_(at(most * m_)),
        costs_(at(most)),
        stale_(at(most)),
        vectors_(at(most)),
        best_(at(halves_of(m_, words_) > 1 ? most : 0)) {
    dice_.reserve(at(most));
  }

  static std::int64_t bytes_of_a_vector(int codebooks, int codewords, std::int64_t cols) {
    return 4 * round_up(cols, kCostParts) + 2 * codebooks * codewords + codebooks + 4 + 8 + 4 +
           static_cast<std::int64_t>(sizeof(BestCode)) +
           static_cast<std::int64_t>(sizeof(CodeDice));
  }

  static std::int64_t bytes_for(int codebooks, int codewords, std::int64_t cols) {
    return LocalSearch{}.batch * bytes_of_a_vector(codebooks, codewords, cols) +
           kProductVectors * (2 * (cols + 1) + 4 * codewords);
  }

  // The monitor hears of the vectors round by round.
  void run(const LocalSearch& search, const float* rows, std::int64_t count, StartCodes start,
           std::uint8_t* best, Monitor& monitor) {
    load(search, rows, count, monitor);
    for (std::int64_t v = 0; v < count; ++v) {
      if (start == StartCodes::random) dice_[at(v)].start(m_, words_, best + v * m_);
      costs_[at(v)] = cost(v, best + v * m_);
    }
    for (int round = 0; round < search.rounds; ++round) {
      perturb(search, round, count, best);
      for (int sweep = 0; sweep < search.sweeps; ++sweep) {
        if (!sweep_once(sweep_order(search, round, sweep, m_), count, monitor)) break;
      }
      keep_better(count, best);
      monitor.advance(count * (round + 1) / search.rounds - count * round / search.rounds);
    }
    if (search.rounds == 0) monitor.advance(count);
  }

  const float* costs() const { return costs_.data(); }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  std::uint8_t* codes(std::int64_t v) { return codes_.data() + v * m_; }
  float cost(std::int64_t v, const std::uint8_t* codes) const {
    return tables_.cost(centred_.data() + v * tables_.padded_cols(), codes);
  }

  void load(const LocalSearch& search, const float* rows, std::int64_t count, Monitor& monitor) {
    dice_.clear();
    std::array<float, kProductVectors> steps{};
    for (std::int64_t first = 0; first < count; first += kProductVectors) {
      monitor.check();
      // Where fewer are left, the last stands for the others too, whose unaries nobody reads.
      for (std::int64_t i = 0; i < kProductVectors; ++i) {
        const std::int64_t v = std::min(first + i, count - 1);
        float* const centred = centred_.data() + v * tables_.padded_cols();
        tables_.centre(rows + v * tables_.cols(), centred);
        steps[at(i)] = tables_.round(centred, rounded_.data() + i * 2 * tables_.pairs());
      }
      for (int k = 0; k < m_; ++k) {
        tables_.unaries(rounded_.data(), steps.data(), k, products_.data(),
                        unaries_.data() + (k * most_ + first) * words_, words_);
      }
    }
    for (std::int64_t v = 0; v < count; ++v) {
      dice_.emplace_back(search.seed, rows + v * tables_.cols(), tables_.cols());
    }
  }

  void perturb(const LocalSearch& search, int round, std::int64_t count, const std::uint8_t* best) {
    std::memcpy(codes_.data(), best, at(count * m_));
    for (std::int64_t v = 0; v < count; ++v) {
      dice_[at(v)].perturb(round, search.perturbed, m_, words_, codes(v));
      stale_[at(v)] = ~std::uint64_t{0};
    }
  }

  // False if no code can change any more.
  bool sweep_once(const std::vector<int>& order, std::int64_t count, Monitor& monitor) {
    bool any = false;
    for (const int k : order) {
      monitor.check();
      std::int64_t left = 0;
      for (std::int64_t v = 0; v < count; ++v) {
        vectors_[at(left)] = static_cast<std::int32_t>(v);
        left += static_cast<std::int64_t>(stale_[at(v)] >> k & 1);
      }
      any = any || left > 0;
      kernels_.icm_step({.codebooks = m_,
                         .target = k,
                         .pairs = tables_.pair_rows(k),
                         .unaries = unaries_.data() + k * most_ * words_,
                         .codes = codes_.data(),
                         .stale = stale_.data(),
                         .vectors = vectors_.data(),
                         .count = left,
                         .best = best_.data()});
    }
    return any;
  }

  void keep_better(std::int64_t count, std::uint8_t* best) {
    for (std::int64_t v = 0; v < count; ++v) {
      if (std::memcmp(codes(v), best + v * m_, at(m_)) == 0) continue;  // led back to the same
      const float found = cost(v, codes(v));
      if (found < costs_[at(v)]) {
        costs_[at(v)] = found;
        std::memcpy(best + v * m_, codes(v), at(m_));
      }
    }
  }

  const IcmTables& tables_;
  const CodeKernels& kernels_;
  const int m_;
  const int words_;
  const std::int64_t most_;              // vectors that there is room for
  AlignedArray<float> centred_;          // [vector][padded column]
  AlignedArray<std::uint16_t> unaries_;  // [codebook][vector][code]
  std::vector<std::int16_t> rounded_;
  std::vector<std::int32_t> products_;
  std::vector<CodeDice> dice_;
  std::vector<std::uint8_t> codes_;
  std::vector<float> costs_;
  std::vector<std::uint64_t> stale_;
  std::vector<std::int32_t> vectors_;
  std::vector<BestCode> best_;
};

}  // namespace

CodeDice::CodeDice(std::uint64_t seed, const float* vector, std::int64_t cols)
    : seed_(seed), stream_(static_cast<std::uint64_t>(cols)) {
  for (std::int64_t i = 0; i < cols; ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, vector + i, sizeof(bits));
    if (bits == 0x80000000) bits = 0;                 // -0 is 0
    stream_ = (stream_ ^ bits) * 0x9E3779B97F4A7C15;  // the golden ratio
    stream_ ^= stream_ >> 32;
  }
}

std::array<std::uint32_t, 4> CodeDice::words(std::uint32_t round, int first) const {
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  return philox({low(stream_), high(stream_), round, static_cast<std::uint32_t>(first)},
                {low(seed_), high(seed_)});
}

void CodeDice::start(int codebooks, int codewords, std::uint8_t* codes) const {
  for (int first = 0; first < codebooks; first += 4) {
    const auto bits = words(kStartRound, first);
    for (int k = first; k < std::min(first + 4, codebooks); ++k) {
      codes[k] = code_of(bits[static_cast<std::size_t>(k - first)], codewords);
    }
  }
}

void CodeDice::perturb(int round, int perturbed, int codebooks, int codewords,
                       std::uint8_t* codes) const {
  int needed = std::min(perturbed, codebooks);
  for (int first = 0; first < codebooks && needed > 0; first += 4) {
    const auto bits = words(static_cast<std::uint32_t>(round), first);
    for (int k = first; k < std::min(first + 4, codebooks); ++k) {
      // The upper 24 bits say whether, the lower 8 which. Without a branch, which nobody could
      // predict.
      const std::uint32_t own = bits[static_cast<std::size_t>(k - first)];
      const auto left = static_cast<std::uint64_t>(codebooks - k);
      const bool taken = (own >> 8) * left < static_cast<std::uint64_t>(needed) << 24;
      codes[k] = taken ? code_of(own, codewords) : codes[k];
      needed -= static_cast<int>(taken);
    }
  }
}

std::vector<int> sweep_order(const LocalSearch& search, int round, int sweep, int codebooks) {
  std::vector<int> order(static_cast<std::size_t>(codebooks));
  std::iota(order.begin(), order.end(), 0);
  if (!search.random_order) return order;
  Random random(search.seed, static_cast<std::uint64_t>(round * search.sweeps + sweep) + 1);
  for (std::size_t i = order.size(); i > 1; --i) {
    const auto j = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)));
    std::swap(order[i - 1], order[j]);
  }
  return order;
}

std::int64_t local_search_bytes(int codebooks, int codewords, std::int64_t cols, int threads) {
  return threads * Batch::bytes_for(codebooks, codewords, cols);
}

std::int64_t batch_within(std::int64_t spare, int codebooks, int codewords, std::int64_t cols,
                          int threads) {
  const std::int64_t most =
      std::min(kMostVectors, kMostUnaryBytes / (std::int64_t{2} * codebooks * codewords));
  const std::int64_t room =
      spare / (threads * Batch::bytes_of_a_vector(codebooks, codewords, cols));
  const std::int64_t usual = LocalSearch{}.batch;
  const std::int64_t more = std::max<std::int64_t>(std::min(most - usual, room), 0);
  return usual + more / kProductVectors * kProductVectors;
}

void search_codes(const IcmTables& tables, const CodeKernels& kernels, const LocalSearch& search,
                  const float* rows, std::int64_t count, StartCodes start, std::uint8_t* codes,
                  float* costs, int threads, Monitor& monitor) {
  if (count == 0) return;
  const std::int64_t most = batch_size(count, search.batch, threads);
  std::vector<std::unique_ptr<Batch>> batches(static_cast<std::size_t>(threads));
  run_tasks(divide_up(count, most), threads, [&](std::int64_t task, int worker) {
    auto& batch = batches[static_cast<std::size_t>(worker)];
    if (batch == nullptr) batch = std::make_unique<Batch>(tables, kernels, most);
    const std::int64_t first = task * most;
    const std::int64_t size = std::min(most, count - first);
    batch->run(search, rows + first * tables.cols(), size, start,
               codes + first * tables.codebooks(), monitor);
    if (costs != nullptr) std::copy_n(batch->costs(), size, costs + first);
  });
}

}  // namespace nearfield
