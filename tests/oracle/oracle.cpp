#include "tests/oracle/oracle.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace nearfield::oracle {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A row as float64, which holds every value of every type. Bits become 0 and 1.
struct Row {
  std::vector<double> values;
  bool finite = true;
};

template <class T>
T load(const std::byte* row, std::int64_t i) {
  T value;
  std::memcpy(&value, row + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

// IEEE 754 binary interchange, spelled out: sign, exponent, mantissa from high bits to low.
double decode_16_bits(std::uint16_t bits, int exponent_bits, int mantissa_bits) {
  const int exponent_max = (1 << exponent_bits) - 1;
  const int bias = exponent_max / 2;
  const int exponent = (bits >> mantissa_bits) & exponent_max;
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  double magnitude = 0;
  if (exponent == exponent_max) {
    magnitude = mantissa == 0 ? kInfinity : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(mantissa, 1 - bias - mantissa_bits);
  } else {
    magnitude = std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
  }
  return (bits >> 15) != 0 ? -magnitude : magnitude;
}

double value_at(DType dtype, const std::byte* row, std::int64_t i) {
  switch (dtype) {
    case DType::f64:
      return load<double>(row, i);
    case DType::f32:
      return static_cast<double>(load<float>(row, i));
    case DType::f16:
      return decode_16_bits(load<std::uint16_t>(row, i), 5, 10);
    case DType::bf16:
      return decode_16_bits(load<std::uint16_t>(row, i), 8, 7);
    case DType::u8:
      return load<std::uint8_t>(row, i);
    case DType::i8:
      return load<std::int8_t>(row, i);
    case DType::bits:
      return (load<std::uint8_t>(row, i / 8) >> (i % 8)) & 1;
  }
  throw std::logic_error("the oracle does not know this type");
}

std::vector<Row> decode(MatrixView matrix) {
  std::vector<Row> rows(static_cast<std::size_t>(matrix.rows()));
  for (std::int64_t i = 0; i < matrix.rows(); ++i) {
    Row& row = rows[static_cast<std::size_t>(i)];
    for (std::int64_t j = 0; j < matrix.cols(); ++j) {
      const double value = value_at(matrix.dtype(), matrix.row(i), j);
      row.values.push_back(value);
      row.finite = row.finite && std::isfinite(value);
    }
  }
  return rows;
}

// The store keeps every compiler, under any flags, from fusing a product into the sum after it.
double rounded(double value) {
  volatile double stored = value;
  return stored;
}

// The sum of DESIGN: element i goes to partial sum i mod 8, then a fixed tree.
template <class Term>
double sum(std::size_t count, Term term) {
  std::array<double, 8> s{};
  for (std::size_t i = 0; i < count; ++i) {
    s[i % 8] += rounded(term(i));
  }
  const double t0 = s[0] + s[4];
  const double t1 = s[1] + s[5];
  const double t2 = s[2] + s[6];
  const double t3 = s[3] + s[7];
  const double u0 = t0 + t2;
  const double u1 = t1 + t3;
  return u0 + u1;
}

double dot(const std::vector<double>& x, const std::vector<double>& y) {
  return sum(x.size(), [&](std::size_t i) { return x[i] * y[i]; });
}

double squared_distance(const std::vector<double>& x, const std::vector<double>& y) {
  return sum(x.size(), [&](std::size_t i) {
    const double difference = x[i] - y[i];
    return difference * difference;
  });
}

double cosine_key(const std::vector<double>& x, const std::vector<double>& y) {
  const double nx = dot(x, x);
  const double ny = dot(y, y);
  if (nx == 0 || ny == 0) {
    return 0;
  }
  return -dot(x, y) / std::sqrt(nx * ny);
}

double absolute_distance(const std::vector<double>& x, const std::vector<double>& y) {
  return sum(x.size(), [&](std::size_t i) { return std::abs(x[i] - y[i]); });
}

double largest_difference(const std::vector<double>& x, const std::vector<double>& y) {
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    largest = std::max(largest, std::abs(x[i] - y[i]));
  }
  return largest;
}

double jaccard_distance(const std::vector<double>& x, const std::vector<double>& y) {
  double both = 0;
  double either = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    both += x[i] != 0 && y[i] != 0 ? 1 : 0;
    either += x[i] != 0 || y[i] != 0 ? 1 : 0;
  }
  return either == 0 ? 0 : (either - both) / either;
}

double differing_bits(const std::vector<double>& x, const std::vector<double>& y) {
  double count = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    count += x[i] != y[i] ? 1 : 0;
  }
  return count;
}

// log2 of a finite x > 0, as a sum of two numbers: ARCHITECTURE.md, "Powers".
std::pair<double, double> logarithm(double x) {
  int exponent = 0;
  double m = 2 * std::frexp(x, &exponent);
  --exponent;
  if (m > std::sqrt(2.0)) {
    m /= 2;
    ++exponent;
  }
  const double s = (m - 1) / (m + 1);
  const double remainder = std::fma(-s, m + 1, m - 1) - rounded(s * (m - ((m + 1) - 1)));
  const double s2 = s * s;
  double series = 0;
  for (int odd = 25; odd >= 3; odd -= 2) {
    series = rounded(series * s2) + 1.0 / odd;
  }
  const double rest = remainder / (m + 1) + rounded(s * rounded(series * s2));
  const double t = s + rest;
  const double t_rest = rest - (t - s);
  const double c = 2 / std::log(2.0);
  const double c_rest = 4.0710547481862066e-17;
  const double product = c * t;
  const double product_rest =
      std::fma(c, t, -product) + (rounded(c * t_rest) + rounded(c_rest * t));
  const double total = exponent + product;
  return {total, (product - (total - exponent)) + product_rest};
}

double any_power(double x, double p) {
  if (x == 0 || !std::isfinite(x)) {
    return x;
  }
  const auto [log, log_rest] = logarithm(x);
  const double y = p * log;
  if (y > 1025 || y < -1080) {
    return y > 0 ? kInfinity : 0;
  }
  const double whole = std::nearbyint(y);
  const double z = ((y - whole) + (std::fma(p, log, -y) + rounded(p * log_rest))) * std::log(2.0);
  double series = 1;
  for (int i = 13; i >= 1; --i) {
    series = rounded(series * rounded(z * (1.0 / i))) + 1;
  }
  return std::ldexp(series, static_cast<int>(whole));
}

double power(double x, double p) {
  if (2 * p != std::floor(2 * p)) {
    return any_power(x, p);
  }
  std::vector<double> factors;
  if (p != std::floor(p)) {
    factors.push_back(std::sqrt(x));
  }
  for (int whole = static_cast<int>(p); whole > 0; whole /= 2, x *= x) {
    if (whole % 2 == 1) {
      factors.push_back(x);
    }
  }
  double product = factors.front();
  for (std::size_t i = 1; i < factors.size(); ++i) {
    product *= factors[i];
  }
  return product;
}

double power_distance(const std::vector<double>& x, const std::vector<double>& y, double p) {
  return sum(x.size(), [&](std::size_t i) { return power(std::abs(x[i] - y[i]), p); });
}

// No case for a metric of metrics.def may be demanded here, or adding one would touch this file
// before it compiles: hence `default`, and knows().
double raw_key(MetricSpec metric, const std::vector<double>& x, const std::vector<double>& y) {
  switch (metric.metric) {
    case Metric::sqeuclidean:
    case Metric::euclidean:
      return squared_distance(x, y);
    case Metric::inner_product:
      return -dot(x, y);
    case Metric::cosine:
      return cosine_key(x, y);
    case Metric::hamming:
      return differing_bits(x, y);
    case Metric::l1:
      return absolute_distance(x, y);
    case Metric::linf:
      return largest_difference(x, y);
    case Metric::jaccard:
      return jaccard_distance(x, y);
    case Metric::lp:
      return power_distance(x, y, metric.p);
    default:
      throw std::logic_error("the oracle does not know this metric");
  }
}

double key_of(MetricSpec metric, const std::vector<double>& x, const std::vector<double>& y) {
  const double key = raw_key(metric, x, y);
  return std::isnan(key) ? kInfinity : key + 0.0;  // -0 + 0 is 0
}

bool is_similarity(MetricSpec metric) {
  return metric == Metric::inner_product || metric == Metric::cosine;
}

double reported(MetricSpec metric, double key) {
  if (metric == Metric::euclidean) {
    return std::sqrt(key);
  }
  if (metric.metric == Metric::lp) {
    return power(key, 1 / metric.p);
  }
  return is_similarity(metric) ? -key + 0.0 : key;
}

bool is_within(MetricSpec metric, double key, double radius) {
  const double value = reported(metric, key);
  if (metric.metric == Metric::lp && radius >= 0 && std::isfinite(key)) {
    return value <= radius || key <= power(radius, metric.p);
  }
  return is_similarity(metric) ? value >= radius : value <= radius;
}

std::vector<bool> allowed_rows(const RowFilter& filter, std::int64_t rows) {
  std::vector<bool> allowed(static_cast<std::size_t>(rows), filter.kind() == RowFilter::Kind::all);
  if (filter.kind() == RowFilter::Kind::bitset) {
    for (std::size_t i = 0; i < allowed.size(); ++i) {
      allowed[i] = ((filter.words()[i / 64] >> (i % 64)) & 1) != 0;
    }
  } else if (filter.kind() == RowFilter::Kind::list) {
    for (const std::int64_t id : filter.ids()) {
      allowed[static_cast<std::size_t>(id)] = true;
    }
  }
  return allowed;
}

using KeyAndId = std::pair<double, std::int64_t>;

std::vector<KeyAndId> all_sorted(const Row& query, std::int64_t query_id,
                                 const std::vector<Row>& base, const std::vector<bool>& allowed,
                                 const KnnOptions& options) {
  std::vector<KeyAndId> found;
  for (std::size_t i = 0; i < base.size(); ++i) {
    const std::int64_t id = static_cast<std::int64_t>(i);
    const bool self = options.exclude_self && id == query_id;
    if (query.finite && base[i].finite && allowed[i] && !self) {
      found.emplace_back(key_of(options.metric, query.values, base[i].values), id);
    }
  }
  std::sort(found.begin(), found.end());  // a pair compares its key first, then its id
  return found;
}

void append(Answer& answer, const std::vector<KeyAndId>& found, MetricSpec metric) {
  const std::int64_t count = std::min(answer.k, static_cast<std::int64_t>(found.size()));
  const float nothing = static_cast<float>(is_similarity(metric) ? -kInfinity : kInfinity);
  for (std::int64_t i = 0; i < answer.k; ++i) {
    const bool present = i < count;
    const auto [key, id] = present ? found[static_cast<std::size_t>(i)] : KeyAndId(kInfinity, -1);
    answer.ids.push_back(id);
    answer.keys.push_back(key);
    answer.distances.push_back(present ? static_cast<float>(reported(metric, key)) : nothing);
  }
  answer.counts.push_back(count);
}

using KeyAndRows = std::tuple<double, std::int64_t, std::int64_t>;

PairAnswer answer_of(const std::vector<KeyAndRows>& pairs, MetricSpec metric) {
  PairAnswer answer;
  for (const auto& [key, i, j] : pairs) {
    answer.first.push_back(i);
    answer.second.push_back(j);
    answer.keys.push_back(key);
    answer.distances.push_back(static_cast<float>(reported(metric, key)));
  }
  return answer;
}

}  // namespace

bool knows(MetricSpec metric) {
  switch (metric.metric) {
    case Metric::sqeuclidean:
    case Metric::euclidean:
    case Metric::inner_product:
    case Metric::cosine:
    case Metric::hamming:
    case Metric::l1:
    case Metric::linf:
    case Metric::jaccard:
    case Metric::lp:
      return true;
    default:
      return false;
  }
}

Answer knn(MatrixView queries, MatrixView base, const KnnOptions& options) {
  const std::vector<Row> query_rows = decode(queries);
  const std::vector<Row> base_rows = decode(base);
  const std::vector<bool> allowed = allowed_rows(options.filter, base.rows());
  Answer answer;
  answer.queries = queries.rows();
  answer.k = options.k;
  for (std::int64_t i = 0; i < queries.rows(); ++i) {
    const Row& query = query_rows[static_cast<std::size_t>(i)];
    append(answer, all_sorted(query, i, base_rows, allowed, options), options.metric);
  }
  return answer;
}

RangeAnswer within(MatrixView queries, MatrixView base, double radius, const KnnOptions& options) {
  const std::vector<Row> query_rows = decode(queries);
  const std::vector<Row> base_rows = decode(base);
  const std::vector<bool> allowed = allowed_rows(options.filter, base.rows());
  RangeAnswer answer;
  for (std::int64_t i = 0; i < queries.rows(); ++i) {
    const Row& query = query_rows[static_cast<std::size_t>(i)];
    for (const auto& [key, id] : all_sorted(query, i, base_rows, allowed, options)) {
      const double value = reported(options.metric, key);
      if (is_within(options.metric, key, radius)) {
        answer.ids.push_back(id);
        answer.keys.push_back(key);
        answer.distances.push_back(static_cast<float>(value));
      }
    }
    answer.offsets.push_back(static_cast<std::int64_t>(answer.ids.size()));
  }
  return answer;
}

PairAnswer pairs(MatrixView first, MatrixView second, bool one_set, const PairsOptions& options) {
  const std::vector<Row> first_rows = decode(first);
  const std::vector<Row> second_rows = decode(second);
  std::vector<KeyAndRows> all;
  for (std::size_t i = 0; i < first_rows.size(); ++i) {
    for (std::size_t j = one_set ? i + 1 : 0; j < second_rows.size(); ++j) {
      if (!first_rows[i].finite || !second_rows[j].finite) {
        continue;
      }
      const double key = key_of(options.metric, first_rows[i].values, second_rows[j].values);
      if (!options.radius || is_within(options.metric, key, *options.radius)) {
        all.emplace_back(key, i, j);
      }
    }
  }
  std::sort(all.begin(), all.end());
  if (options.count && *options.count < static_cast<std::int64_t>(all.size())) {
    all.resize(static_cast<std::size_t>(*options.count));
  }
  return answer_of(all, options.metric);
}

PairAnswer mutual(MatrixView first, MatrixView second, bool one_set, MetricSpec metric) {
  KnnOptions nearest;
  nearest.k = 1;
  nearest.metric = metric;
  nearest.exclude_self = one_set;
  const Answer of_first = oracle::knn(first, second, nearest);
  const Answer of_second = oracle::knn(second, first, nearest);
  std::vector<KeyAndRows> agreed;
  for (std::int64_t i = 0; i < first.rows(); ++i) {
    const std::int64_t j = of_first.ids[static_cast<std::size_t>(i)];
    if (j >= 0 && of_second.ids[static_cast<std::size_t>(j)] == i && (!one_set || i < j)) {
      agreed.emplace_back(of_first.keys[static_cast<std::size_t>(i)], i, j);
    }
  }
  std::sort(agreed.begin(), agreed.end());
  return answer_of(agreed, metric);
}

PairAnswer match(MatrixView first, MatrixView second, const MatchOptions& options) {
  KnnOptions nearest;
  nearest.k = 2;
  nearest.metric = options.metric;
  const Answer of_first = oracle::knn(first, second, nearest);
  const Answer of_second = oracle::knn(second, first, nearest);
  const auto passes = [&](const Answer& of, std::int64_t row) {
    const auto at = static_cast<std::size_t>(row);
    if (of.counts[at] == 0) return false;
    const double one = reported(options.metric, of.keys[2 * at]);
    if (options.max_distance && one > *options.max_distance) return false;
    const double two =
        of.counts[at] == 1 ? kInfinity : reported(options.metric, of.keys[2 * at + 1]);
    if (options.ratio && !(one < *options.ratio * two)) return false;
    return !options.margin || two - one >= *options.margin;
  };
  std::vector<KeyAndRows> matches;
  for (std::int64_t i = 0; i < first.rows(); ++i) {
    if (!passes(of_first, i)) continue;
    const auto at = static_cast<std::size_t>(2 * i);
    const std::int64_t j = of_first.ids[at];
    if (options.cross_check != CrossCheck::none &&
        of_second.ids[static_cast<std::size_t>(2 * j)] != i) {
      continue;
    }
    if (options.cross_check == CrossCheck::tested && !passes(of_second, j)) continue;
    matches.emplace_back(of_first.keys[at], i, j);
  }
  std::sort(matches.begin(), matches.end());
  return answer_of(matches, options.metric);
}

}  // namespace nearfield::oracle
