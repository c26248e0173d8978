#include "dedup/join_plan.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/checked.hpp"
#include "core/float_environment.hpp"
#include "dedup/join_tuning.hpp"
#include "filter/bits/bit_kernel.hpp"
#include "hash/substrings.hpp"

namespace nearfield {
namespace {

// Half a million pairs of them: of 2^16 buckets, one in 3,900 pairs differs in one bit at most.
constexpr std::int64_t kPlanSample = 1024;

// Of all numbers of tables and bits, so many of the best, were codes random, are tried on the
// sample.
constexpr std::size_t kTried = 6;

struct TableShape {
  std::int64_t tables;
  int bits;
  double cost;
};

// How many numbers of so many bits have at most so many set.
double buckets_within(int bits, std::int64_t most) {
  double all = 0;
  double exactly = 1;
  for (std::int64_t set = 0; set <= std::min<std::int64_t>(most, bits); ++set) {
    all += exactly;
    exactly = exactly * static_cast<double>(bits - set) / static_cast<double>(set + 1);
  }
  return all;
}

// Nanoseconds of one table. share: of all pairs, those that it brings together.
double table_cost(std::int64_t rows, std::int64_t cols, int bits, std::int64_t differing,
                  double share) {
  const JoinTuning& tuning = join_tuning();
  const auto count = static_cast<double>(rows);
  const double buckets = std::ldexp(1.0, bits);
  const double held = count / buckets;
  const double filled = buckets * (1 - std::exp(-held));
  // The last block of a bucket is half empty, but for the only one.
  const double padding = held >= 8 ? (held + 8) / held : 16 * (1 - std::exp(-held)) / held;
  const double pairs = share * count * count / 2;
  const double words = static_cast<double>(divide_up(cols, kWordBits));
  return pairs * padding * (tuning.pair + words * tuning.pair_word) +
         pairs / std::max(held, 1.0) * tuning.question +
         filled * buckets_within(bits, differing) * tuning.bucket + count * tuning.row;
}

template <class ShareOf>
double join_cost(const JoinPlan& plan, std::int64_t rows, std::int64_t cols,
                 const ShareOf& share_of) {
  double cost = 0;
  for (std::int64_t table = 0; table < plan.tables(); ++table) {
    const std::int64_t differing = plan.differing(table);
    cost += table_cost(rows, cols, plan.partition.bits, differing, share_of(table, differing));
  }
  return cost;
}

double random_share(int bits, std::int64_t differing) {
  return buckets_within(bits, differing) / std::ldexp(1.0, bits);
}

double cost_of_random(std::int64_t rows, std::int64_t cols, std::int64_t radius,
                      const TableShape& shape) {
  const JoinPlan plan{{.tables = shape.tables, .bits = shape.bits}, radius};
  return join_cost(plan, rows, cols, [&](std::int64_t, std::int64_t differing) {
    return random_share(shape.bits, differing);
  });
}

// Of each number of tables the best number of bits.
std::vector<TableShape> shapes_to_try(std::int64_t rows, std::int64_t cols, std::int64_t radius) {
  std::vector<TableShape> shapes;
  const std::int64_t most_tables = std::min({kMostMihTables, cols, radius + 1});
  for (std::int64_t tables = 1; tables <= most_tables; ++tables) {
    const int most = static_cast<int>(std::min<std::int64_t>(cols / tables, most_mih_bits(rows)));
    TableShape best{tables, 0, 0};
    for (int bits = 1; bits <= most; ++bits) {
      const double cost = cost_of_random(rows, cols, radius, {tables, bits, 0});
      if (best.bits == 0 || cost < best.cost) best = {tables, bits, cost};
    }
    shapes.push_back(best);
  }
  std::ranges::stable_sort(shapes, {}, &TableShape::cost);
  shapes.resize(std::min(shapes.size(), kTried));
  return shapes;
}

// Some of the codes, each once.
class CodeSample {
 public:
  explicit CodeSample(MatrixView codes)
      : rows_(DType::bits, std::min(codes.rows(), kPlanSample), codes.cols()) {
    const auto bytes = static_cast<std::size_t>(row_bytes(DType::bits, codes.cols()));
    std::vector<const std::byte*> picked;
    for (std::int64_t i = 0; i < rows_.rows(); ++i) {
      picked.push_back(codes.row(i * codes.rows() / rows_.rows()));
    }
    const auto order = [&](const std::byte* a, const std::byte* b) {
      return std::memcmp(a, b, bytes);
    };
    std::ranges::sort(picked, [&](auto* a, auto* b) { return order(a, b) < 0; });
    const auto same =
        std::ranges::unique(picked, [&](auto* a, auto* b) { return order(a, b) == 0; });
    picked.erase(same.begin(), same.end());
    for (std::size_t i = 0; i < picked.size(); ++i) {
      std::memcpy(rows_.row(static_cast<std::int64_t>(i)), picked[i], bytes);
    }
    count_ = std::ssize(picked);
  }

  // Of their pairs, those that differ in at most so many of the bits at these positions.
  double share(std::span<const std::uint32_t> positions, std::int64_t differing) const {
    std::vector<std::uint32_t> buckets(static_cast<std::size_t>(count_));
    write_buckets(rows_.view().slice(0, count_), positions, buckets);
    std::int64_t near = 0;
    for (std::size_t i = 1; i < buckets.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        near += std::popcount(buckets[i] ^ buckets[j]) <= differing ? 1 : 0;
      }
    }
    return count_ < 2 ? 0
                      : static_cast<double>(near) /
                            (static_cast<double>(count_) * static_cast<double>(count_ - 1) / 2);
  }

 private:
  Matrix rows_;
  std::int64_t count_ = 0;
};

}  // namespace

JoinPlan plan_join(MatrixView codes, std::int64_t radius, const Monitor& monitor) {
  const DefaultFloats floats;
  const std::int64_t rows = codes.rows();
  const std::int64_t cols = codes.cols();
  if (radius >= cols) return {.partition = {}, .radius = radius};
  JoinPlan best{{.tables = 1, .bits = 0}, radius};
  double least = cost_of_random(rows, cols, radius, {1, 0, 0});
  if (least > join_tuning().planning) {
    const CodeSample sample(codes);
    for (const TableShape& shape : shapes_to_try(rows, cols, radius)) {
      monitor.check();
      // As of so many rows that their tables have at most so many bits.
      JoinPlan plan{
          choose_partition(codes, std::int64_t{1} << (shape.bits - 1), shape.tables, monitor),
          radius};
      const double cost =
          join_cost(plan, rows, cols, [&](std::int64_t table, std::int64_t differing) {
            return std::max(sample.share(plan.partition.of(table), differing),
                            random_share(plan.partition.bits, differing));
          });
      if (cost < least) {
        least = cost;
        best = std::move(plan);
      }
    }
  }
  best.seconds = least / 1e9;
  return best;
}

std::int64_t bytes_to_plan_join(std::int64_t cols) {
  const std::int64_t of_a_row = row_bytes(DType::bits, cols) + 16;  // copied, pointed to, hashed
  return kPlanSample * of_a_row + bytes_to_partition(cols);
}

// Grown by doubling.
std::int64_t difference_bytes(const JoinPlan& plan) {
  if (plan.tables() == 0) return 0;
  const double count = buckets_within(plan.partition.bits, plan.differing(0));
  return static_cast<std::int64_t>(count) * 3 * static_cast<std::int64_t>(sizeof(std::uint32_t));
}

std::vector<std::uint32_t> bucket_differences(int bits, std::int64_t most) {
  std::vector<std::uint32_t> all{0};
  // Each with one more bit set than those before, above the highest of them.
  for (std::size_t begin = 0, set = 0; static_cast<std::int64_t>(set) < most; ++set) {
    const std::size_t end = all.size();
    for (std::size_t i = begin; i < end; ++i) {
      for (int bit = static_cast<int>(std::bit_width(all[i])); bit < bits; ++bit) {
        all.push_back(all[i] | std::uint32_t{1} << bit);
      }
    }
    begin = end;
  }
  all.erase(all.begin());
  return all;
}

}  // namespace nearfield
