#include "filter/rounded/bf16_gain.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "filter/rounded/bf16_vectors.hpp"
#include "filter/rounded/rounder.hpp"

namespace nearfield {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr std::int64_t kSampleQueries = 8;
constexpr std::int64_t kLeastSampleRows = 256;
constexpr std::int64_t kMostSampleRows = 1024;   // one row that loses much is noticed by 32
constexpr std::int64_t kSampleValues = 1 << 18;  // about a millisecond
constexpr std::int64_t kOfTheRows = 64;          // one of so many, within these

// A threshold is taken to be the key of this rank among the rows that were looked at.
constexpr double kRank = 10;

// What share of all rows is at or below the threshold, on average while more and more of them are
// looked at.
double mean_share(std::int64_t base_rows) {
  const double last = std::min(kRank / static_cast<double>(base_rows), 1.0);
  return last * (1 - std::log(last));
}

// What a pair costs, in products of bytes, of which an AMX core makes 2 in a picosecond. Measured
// with f32 and f64 on one core of a 5th-generation Xeon.
constexpr double kBf16Product = 2;
constexpr double kBesideProducts = 64;  // of a pair: thresholds and comparisons
constexpr double kVerified = 100;       // of a value
constexpr double kVerifiedF64 = 260;    // likewise, without float32 before
constexpr double kRounded = 3000;       // of a value of a row, for all queries

std::int64_t most_sample_rows(std::int64_t cols) {
  return std::clamp<std::int64_t>(kSampleValues / cols, 1, kMostSampleRows);
}

// What the bound on a key has of a vector, by one rounding.
struct Lost {
  double loss = kInfinity;  // of a row that is cut off too much, and so always a candidate
  double length = 0;
};

struct Sampled {
  Lost bytes;
  Lost bf16;
  double squares = 0;
};

// Usual vectors as they are compared, and what they lose.
class Sample {
 public:
  Sample(const Rounding& rounding, std::int64_t most)
      : rounding_(rounding),
        vector_(rounding),
        to_bytes_(rounding),
        to_bf16_(rounding),
        bytes_(static_cast<std::size_t>(rounding.cols)),
        bf16_(static_cast<std::size_t>(rounding.cols)) {
    vectors.reserve(static_cast<std::size_t>(most));
    values.reserve(static_cast<std::size_t>(most * rounding.cols));
  }

  void add_row(const std::byte* row) {
    if (vector_.load(rounding_.base, row) != VectorKind::usual) return;
    vector_.centre();
    add(to_bytes_.row(row, bytes_.data()), rounding_.step, to_bf16_.row(row, bf16_.data()));
  }

  void add_query(const std::byte* query) {
    if (vector_.load(rounding_.queries, query) != VectorKind::usual) return;
    if (rounding_.form == Form::distance) {
      vector_.centre();
    } else {
      vector_.scale(1);
    }
    const Rounded bytes = to_bytes_.query(query, bytes_.data());
    add(bytes, bytes.step, to_bf16_.query(query, bf16_.data()));
  }

  // As in GroupTerms: rows of bytes share what the worst of them loses.
  void share_in_groups() {
    for (std::size_t first = 0; first < vectors.size(); first += kGroupRows) {
      const auto group = std::span(vectors).subspan(
          first, std::min<std::size_t>(kGroupRows, vectors.size() - first));
      Lost worst{0, 0};
      for (const Sampled& one : group) {
        if (one.bytes.loss == kInfinity) continue;
        worst.loss = std::max(worst.loss, one.bytes.loss);
        worst.length = std::max(worst.length, one.bytes.length);
      }
      for (Sampled& one : group) {
        if (one.bytes.loss != kInfinity) one.bytes = worst;
      }
    }
  }

  std::vector<Sampled> vectors;
  std::vector<float> values;  // vector by vector

 private:
  void add(const Rounded& bytes, double step, const Bf16Vector& bf16) {
    Sampled sampled;
    if (bytes.kind == VectorKind::usual) {
      sampled.bytes = {bytes.loss * step, bytes.length * step};
    }
    sampled.bf16 = {bf16.loss * bf16.step, std::sqrt(bf16.squares) * bf16.step};
    const std::span<const float> own = vector_.values();
    sampled.squares =
        rounding_kernel(rounding_.isa).product(own.data(), own.data(), rounding_.cols);
    vectors.push_back(sampled);
    values.insert(values.end(), own.begin(), own.end());
  }

  const Rounding& rounding_;
  LoadedVector vector_;
  Rounder to_bytes_;
  Bf16Rounder to_bf16_;
  std::vector<std::int8_t> bytes_;
  std::vector<std::uint16_t> bf16_;
};

// By how much a bound may let a row through that is beyond the threshold.
double slack(Form form, const Lost& query, const Lost& row) {
  if (form == Form::distance || row.loss == kInfinity) return query.loss + row.loss;
  return query.length * row.loss + query.loss * row.length;
}

// Where the tail of normal deviates reaches such a share.
double deviation(double share) { return std::sqrt(2 * std::log(1 / share)); }

// The key that so small a share of all rows is below, by those of a sample. Where these are too
// few it is where the line through the smallest and the one at a sixteenth leads, which is the
// fifth at least.
double key_at(double share, std::vector<double> keys) {
  const auto of_rank = [&](double rank) {
    const auto place = keys.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(keys.begin(), place, keys.end());
    return *place;
  };
  const auto count = static_cast<double>(keys.size());
  if (share * count >= 1) return of_rank(share * (count - 1));
  const double other = std::max(1.0 / 16, 4 / count);
  const double near = of_rank(0);
  const double far = of_rank(other * count);
  const double steps =
      (deviation(share) - deviation(1 / count)) / (deviation(1 / count) - deviation(other));
  return near - steps * (far - near);
}

// Of all pairs.
struct Survivors {
  double of_bytes = 0;
  double of_bf16 = 0;
};

Survivors survivors_of(const Rounding& rounding, const Sample& queries, const Sample& rows,
                       double share) {
  const bool distance = rounding.form == Form::distance;
  Survivors survivors;
  std::vector<double> keys(rows.vectors.size());
  for (std::size_t q = 0; q < queries.vectors.size(); ++q) {
    const Sampled& query = queries.vectors[q];
    const auto cols = static_cast<std::size_t>(rounding.cols);
    for (std::size_t row = 0; row < keys.size(); ++row) {
      const double product = rounding_kernel(rounding.isa)
                                 .product(queries.values.data() + q * cols,
                                          rows.values.data() + row * cols, rounding.cols);
      const double squares = query.squares + rows.vectors[row].squares - 2 * product;
      keys[row] = distance ? std::sqrt(std::max(squares, 0.0)) : -product;
    }
    double threshold = key_at(share, keys);
    if (distance) threshold = std::max(threshold, 0.0);
    for (std::size_t row = 0; row < keys.size(); ++row) {
      const Sampled& one = rows.vectors[row];
      const double beyond = keys[row] - threshold;
      survivors.of_bytes += beyond <= slack(rounding.form, query.bytes, one.bytes) ? 1 : 0;
      survivors.of_bf16 += beyond <= slack(rounding.form, query.bf16, one.bf16) ? 1 : 0;
    }
  }
  const auto pairs = static_cast<double>(keys.size() * queries.vectors.size());
  return {survivors.of_bytes / pairs, survivors.of_bf16 / pairs};
}

// Between the rows that fit_rounding takes for its sample: those lose less than others, since none
// of them is beyond the largest.
template <class Add>
void take_evenly(std::int64_t wanted, std::int64_t rows, const Add& add) {
  const std::int64_t count = std::min(wanted, rows);
  for (std::int64_t i = 0; i < count; ++i) add((2 * i + 1) * rows / (2 * count));
}

}  // namespace

std::int64_t bf16_gain_bytes(std::int64_t cols) {
  const std::int64_t of_a_vector = cols * static_cast<std::int64_t>(sizeof(float)) +
                                   static_cast<std::int64_t>(sizeof(Sampled) + 2 * sizeof(double));
  const std::int64_t of_a_sample =
      2 * LoadedVector::bytes(cols) + Rounder::bytes(cols) +
      cols * static_cast<std::int64_t>(sizeof(std::int8_t) + sizeof(std::uint16_t));
  return (most_sample_rows(cols) + kSampleQueries) * of_a_vector + 2 * of_a_sample;
}

double bf16_gain(const Rounding& rounding, MatrixView queries, MatrixView rows,
                 std::int64_t base_rows) {
  const std::int64_t wanted = std::min(std::max(rows.rows() / kOfTheRows, kLeastSampleRows),
                                       most_sample_rows(rounding.cols));
  Sample asked(rounding, kSampleQueries);
  Sample base(rounding, wanted);
  take_evenly(kSampleQueries, queries.rows(),
              [&](std::int64_t i) { asked.add_query(queries.row(i)); });
  take_evenly(wanted, rows.rows(), [&](std::int64_t i) { base.add_row(rows.row(i)); });
  if (asked.vectors.empty() || base.vectors.size() < 8) return 0;
  base.share_in_groups();
  const Survivors survivors = survivors_of(rounding, asked, base, mean_share(base_rows));
  const auto cols = static_cast<double>(rounding.cols);
  const double verified = (rounding.base == DType::f64 ? kVerifiedF64 : kVerified) * cols;
  const double of_both =
      kBesideProducts +
      kRounded * cols / static_cast<double>(std::max<std::int64_t>(queries.rows(), 1));
  return (of_both + cols + survivors.of_bytes * verified) /
         (of_both + kBf16Product * cols + survivors.of_bf16 * verified);
}

}  // namespace nearfield
