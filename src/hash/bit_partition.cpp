#include "hash/bit_partition.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "core/float_environment.hpp"

namespace nearfield {
namespace {

// Of rows, at even distances. By chance two bits of 1,024 rows seem to share 0.001, 23 of them
// 0.02: nothing beside what is looked for.
constexpr std::int64_t kSampleWords = 16;
constexpr std::int64_t kSampleRows = 64 * kSampleWords;

// What each bit was in the rows of a sample.
class Sample {
 public:
  explicit Sample(MatrixView rows)
      : rows_(std::min(rows.rows(), kSampleRows)),
        columns_(static_cast<std::size_t>(rows.cols() * kSampleWords)) {
    for (std::int64_t i = 0; i < rows_; ++i) {
      const std::byte* const row = rows.row(i * rows.rows() / rows_);
      for (std::int64_t bit = 0; bit < rows.cols(); ++bit) {
        const auto set = std::to_integer<std::uint64_t>(row[bit / 8] >> (bit % 8) & std::byte{1});
        columns_[static_cast<std::size_t>(bit * kSampleWords + i / 64)] |= set << (i % 64);
      }
    }
  }

  // How often it is set.
  double share(std::uint32_t bit) const { return fraction(of(bit), of(bit)); }

  // What both tell, of what each does: the square of their correlation.
  double shared(std::uint32_t a, std::uint32_t b) const {
    const double pa = share(a);
    const double pb = share(b);
    const double variance = pa * (1 - pa) * pb * (1 - pb);
    if (variance == 0) return 0;
    const double covariance = fraction(of(a), of(b)) - pa * pb;
    return covariance * covariance / variance;
  }

 private:
  const std::uint64_t* of(std::uint32_t bit) const {
    return &columns_[static_cast<std::size_t>(bit * kSampleWords)];
  }
  double fraction(const std::uint64_t* a, const std::uint64_t* b) const {
    int both = 0;
    for (std::int64_t i = 0; i < kSampleWords; ++i) both += std::popcount(a[i] & b[i]);
    return static_cast<double>(both) / static_cast<double>(std::max<std::int64_t>(rows_, 1));
  }

  std::int64_t rows_;
  std::vector<std::uint64_t> columns_;
};

// 1 where both values are as frequent, 0 where there is one: a parabola, near to how often a bit
// halves the rows that agree, and the same on every machine, as a logarithm need not be.
double told_by(double share) { return 4 * share * (1 - share); }

// Straight between powers of two, likewise.
double log2_of(std::int64_t rows) {
  const int whole = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows))) - 1;
  return whole + (static_cast<double>(rows) / static_cast<double>(std::int64_t{1} << whole) - 1);
}

struct Table {
  std::vector<std::uint32_t> positions;
  double told = 0;  // by all of them, less what they share
};

double gain_of(const Sample& sample, std::uint32_t bit, double told, const Table& table) {
  for (const std::uint32_t other : table.positions) told -= sample.shared(bit, other);
  return std::max(told, 0.0);
}

std::vector<std::uint32_t> most_telling_first(std::span<const double> told) {
  std::vector<std::uint32_t> order(told.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order,
                           [&](std::uint32_t a, std::uint32_t b) { return told[a] > told[b]; });
  return order;
}

std::int64_t tables_for(double told, std::int64_t rows, std::int64_t cols) {
  const double of_a_table = std::max(1.0, log2_of(std::max<std::int64_t>(rows, 1)));
  return std::clamp<std::int64_t>(std::llround(told / of_a_table), 1,
                                  std::min(kMostMihTables, cols));
}

}  // namespace

int most_mih_bits(std::int64_t rows) {
  return std::clamp(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows))), 1,
                    kMostMihBits);
}

std::int64_t most_mih_tables(std::int64_t rows, std::int64_t cols) {
  return tables_for(static_cast<double>(cols), rows, cols);
}

// What each bit was in the sample; what it tells, its place in the order and in the tables.
std::int64_t bytes_to_partition(std::int64_t cols) {
  return cols * (kSampleWords * static_cast<std::int64_t>(sizeof(std::uint64_t)) + 64);
}

BitPartition choose_partition(MatrixView like, std::int64_t rows, std::int64_t tables,
                              const Monitor& monitor) {
  const DefaultFloats floats;
  const Sample sample(like);
  std::vector<double> told;
  for (std::int64_t bit = 0; bit < like.cols(); ++bit) {
    told.push_back(told_by(sample.share(static_cast<std::uint32_t>(bit))));
  }
  const double all = std::accumulate(told.begin(), told.end(), 0.0);
  BitPartition partition;
  partition.tables = tables > 0 ? tables : tables_for(all, rows, like.cols());
  partition.bits =
      static_cast<int>(std::min<std::int64_t>(like.cols() / partition.tables, most_mih_bits(rows)));
  std::vector<Table> filled(static_cast<std::size_t>(partition.tables));
  std::vector<std::uint32_t> order = most_telling_first(told);
  order.resize(static_cast<std::size_t>(partition.tables * partition.bits));
  for (const std::uint32_t bit : order) {
    monitor.check();
    Table* best = nullptr;
    double best_gain = 0;
    for (Table& table : filled) {
      if (std::ssize(table.positions) == partition.bits) continue;
      const double gain = gain_of(sample, bit, told[bit], table);
      if (best == nullptr || table.told - gain < best->told - best_gain) {
        best = &table;
        best_gain = gain;
      }
    }
    best->positions.push_back(bit);
    best->told += best_gain;
  }
  for (Table& table : filled) {
    std::ranges::sort(table.positions);
    partition.positions.insert(partition.positions.end(), table.positions.begin(),
                               table.positions.end());
  }
  return partition;
}

}  // namespace nearfield
