#include "filter/rounded/bf16_gain.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "core/infinity.hpp"
#include "filter/rounded/bf16_vectors.hpp"
#include "filter/rounded/loaded_vector.hpp"
#include "filter/rounded/rounder.hpp"

namespace nearfield {
namespace {

// How much is looked at before a choice: it takes 0.5 to 1.0 ms up to 4,096 columns, and 5 with
// 16,384.
struct SampleTuning {
  std::int64_t queries = 8;
  std::int64_t least_rows = 64;    // are looked at
  std::int64_t least_usual = 32;   // of fewer that have bounds nothing is said
  std::int64_t usual_rows = 256;   // as far as there are values
  std::int64_t most_rows = 1024;   // one row that loses much is noticed by 32
  std::int64_t values = 1 << 18;   // of the rows: about a millisecond
  std::int64_t of_the_rows = 64;   // one of so many, within these
  std::int64_t rows_a_check = 32;  // between two looks at the cancel token
};
constexpr SampleTuning kSample;

// What a search costs, in products of bytes, of which an AMX core makes 2 in a picosecond. Measured
// with f32 on one core of a 5th-generation Xeon: kernels as they say; rounding with 20 M values, 64
// to 4,096 columns. A value that is verified takes 50 ps from a cache and 200 from memory.
struct CostTuning {
  double bf16_product = 2;
  double beside_products = 64;  // of a pair: thresholds and comparisons
  double beside_bf16 = 120;     // likewise
  double verified_pair = 4000;
  double verified = 200;        // of a value
  double verified_f64 = 400;    // likewise, without float32 before
  double rounded_row = 160000;  // for all queries, and so are the next
  double rounded = 2800;        // of a value
  double rotated = 4700;        // likewise, and rounded
  double rounded_to_bf16 = 5200;
};
constexpr CostTuning kCost;

// What share of all rows is at or below the threshold: when half of them have been looked at, and
// on average, which is more, since before there are as many as are sought all of them are.
struct Shares {
  explicit Shares(const Sought& sought) {
    const double last =
        std::min(static_cast<double>(sought.rank) / static_cast<double>(sought.rows), 1.0);
    halfway = std::min(2 * last, 1.0);
    average = last * (1 - std::log(last));
  }

  double halfway;
  double average;
};

std::int64_t most_sample_rows(std::int64_t cols) {
  return std::clamp(kSample.values / cols, kSample.least_rows, kSample.most_rows);
}

// What the bound on a key has of a vector, by one rounding.
struct Lost {
  double loss = kInfinity;  // of a row that is cut off too much, and so always a candidate
  double length = 0;
};

struct Sampled {
  std::int64_t number = 0;
  Lost bytes;
  Lost bf16;
  double squares = 0;
};

// Usual vectors as they are compared, and what they lose.
class Sample {
 public:
  Sample(const BaseRounding& rounding, std::int64_t most)
      : rounding_(rounding),
        vector_(rounding),
        bytes_(static_cast<std::size_t>(rounding.cols)),
        bf16_(static_cast<std::size_t>(rounding.cols)) {
    vectors.reserve(static_cast<std::size_t>(most));
    values.reserve(static_cast<std::size_t>(most * rounding.cols));
  }

  void add_row(std::int64_t number, const std::byte* row) {
    if (vector_.load(rounding_.base, row) != VectorKind::usual) return;
    const Bf16Vector bf16 = round_row_to_bf16(rounding_, vector_, bf16_.data());
    Sampled& sampled = add_values(number);  // before they are rotated
    sampled.bf16 = {bf16.loss, std::sqrt(bf16.squares)};
    lose(round_row(rounding_, vector_, bytes_.data()), rounding_.step, sampled);
  }

  void add_query(std::int64_t number, const std::byte* query) {
    if (vector_.load(rounding_.queries, query) != VectorKind::usual) return;
    const Bf16Vector bf16 = round_query_to_bf16(rounding_, vector_, bf16_.data());
    if (rounding_.form == Form::product) vector_.scale(1);
    Sampled& sampled = add_values(number);
    sampled.bf16 = {bf16.loss * bf16.divisor, std::sqrt(bf16.squares) * bf16.divisor};
    const Rounded bytes = round_query(rounding_, vector_, bytes_.data());
    lose(bytes, bytes.step, sampled);
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
  Sampled& add_values(std::int64_t number) {
    const std::span<const float> own = vector_.values();
    values.insert(values.end(), own.begin(), own.end());
    Sampled& sampled = vectors.emplace_back();
    sampled.number = number;
    sampled.squares =
        rounding_kernel(rounding_.isa).product(own.data(), own.data(), rounding_.cols);
    return sampled;
  }

  static void lose(const Rounded& bytes, double step, Sampled& sampled) {
    if (bytes.kind != VectorKind::usual) return;
    sampled.bytes = {bytes.loss * step, bytes.length * step};
  }

  const BaseRounding& rounding_;
  LoadedVector vector_;
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

// The key of each row, as a bound sees it: a distance or a product. A row that has the number of
// the query is the query itself where rows are searched for each other, and elsewhere one of many:
// it is left out.
void find_keys(const BaseRounding& rounding, const Sample& queries, std::size_t query,
               const Sample& rows, std::vector<double>& keys) {
  const auto cols = static_cast<std::size_t>(rounding.cols);
  const RoundingKernel& kernel = rounding_kernel(rounding.isa);
  const Sampled& asked = queries.vectors[query];
  for (std::size_t row = 0; row < keys.size(); ++row) {
    const Sampled& one = rows.vectors[row];
    const double product = kernel.product(queries.values.data() + query * cols,
                                          rows.values.data() + row * cols, rounding.cols);
    const double squares = asked.squares + one.squares - 2 * product;
    keys[row] = one.number == asked.number        ? kInfinity
                : rounding.form == Form::distance ? std::sqrt(std::max(squares, 0.0))
                                                  : -product;
  }
}

// Those of the threshold halfway: what bounds let through hardly depends on when that is. What is
// below the threshold does, and so it is taken on average.
Survivors survivors_of(const BaseRounding& rounding, const Sample& queries, const Sample& rows,
                       const Shares& shares) {
  Survivors survivors;
  std::vector<double> keys(rows.vectors.size());
  for (std::size_t query = 0; query < queries.vectors.size(); ++query) {
    find_keys(rounding, queries, query, rows, keys);
    double threshold = key_at(shares.halfway, keys);
    if (rounding.form == Form::distance) threshold = std::max(threshold, 0.0);
    const Sampled& asked = queries.vectors[query];
    for (std::size_t row = 0; row < keys.size(); ++row) {
      const Sampled& one = rows.vectors[row];
      const double beyond = keys[row] - threshold;
      survivors.of_bytes += beyond <= slack(rounding.form, asked.bytes, one.bytes) ? 1 : 0;
      survivors.of_bf16 += beyond <= slack(rounding.form, asked.bf16, one.bf16) ? 1 : 0;
    }
  }
  const auto pairs = static_cast<double>(keys.size() * queries.vectors.size());
  const double before = std::max(shares.average - shares.halfway, 0.0);
  return {survivors.of_bytes / pairs + before, survivors.of_bf16 / pairs + before};
}

// Between the rows that fit_rounding takes for its sample: those lose less than others, since none
// of them is beyond the largest.
template <class Add>
void take_evenly(std::int64_t wanted, const Piece& rows, const Monitor& monitor, const Add& add) {
  const std::int64_t count = std::min(wanted, rows.view.rows());
  for (std::int64_t i = 0; i < count; ++i) {
    if (i % kSample.rows_a_check == 0) monitor.check();
    const std::int64_t number = rows.first + (2 * i + 1) * rows.view.rows() / (2 * count);
    add(number, rows.row(number));
  }
}

}  // namespace

std::int64_t bf16_gain_bytes(std::int64_t cols) {
  const std::int64_t of_a_vector = cols * static_cast<std::int64_t>(sizeof(float)) +
                                   static_cast<std::int64_t>(sizeof(Sampled) + 2 * sizeof(double));
  const std::int64_t of_a_sample =
      LoadedVector::bytes(cols) +
      cols * static_cast<std::int64_t>(sizeof(std::int8_t) + sizeof(std::uint16_t));
  return (most_sample_rows(cols) + kSample.queries) * of_a_vector + 2 * of_a_sample;
}

double bf16_gain(const BaseRounding& rounding, const Piece& queries, const Piece& rows,
                 const Sought& sought, const Monitor& monitor) {
  const std::int64_t wanted =
      std::min(std::max(rows.view.rows() / kSample.of_the_rows, kSample.usual_rows),
               most_sample_rows(rounding.cols));
  Sample asked(rounding, kSample.queries);
  Sample base(rounding, wanted);
  take_evenly(kSample.queries, queries, monitor,
              [&](std::int64_t number, const std::byte* query) { asked.add_query(number, query); });
  take_evenly(wanted, rows, monitor,
              [&](std::int64_t number, const std::byte* row) { base.add_row(number, row); });
  if (asked.vectors.empty() || std::ssize(base.vectors) < kSample.least_usual) return 0;
  base.share_in_groups();
  const Survivors survivors = survivors_of(rounding, asked, base, Shares(sought));
  const auto cols = static_cast<double>(rounding.cols);
  const auto cost = [&](double products, double share, double of_a_rounded_value) {
    const double verified = rounding.base == DType::f64 ? kCost.verified_f64 : kCost.verified;
    const double row = kCost.rounded_row + of_a_rounded_value * cols;
    return products + share * (kCost.verified_pair + verified * cols) +
           row / static_cast<double>(queries.view.rows());
  };
  return cost(kCost.beside_products + cols, survivors.of_bytes,
              rounding.rotation ? kCost.rotated : kCost.rounded) /
         cost(kCost.beside_bf16 + kCost.bf16_product * cols, survivors.of_bf16,
              kCost.rounded_to_bf16);
}

}  // namespace nearfield
