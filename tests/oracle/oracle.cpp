#include "tests/oracle/oracle.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <stdexcept>
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

// No case for a metric of metrics.def may be demanded here, or adding one would touch this file
// before it compiles: hence `default`, and knows().
double raw_key(Metric metric, const std::vector<double>& x, const std::vector<double>& y) {
  switch (metric) {
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
    default:
      throw std::logic_error("the oracle does not know this metric");
  }
}

double key_of(Metric metric, const std::vector<double>& x, const std::vector<double>& y) {
  const double key = raw_key(metric, x, y);
  return std::isnan(key) ? kInfinity : key + 0.0;  // -0 + 0 is 0
}

bool is_similarity(Metric metric) {
  return metric == Metric::inner_product || metric == Metric::cosine;
}

double reported(Metric metric, double key) {
  if (metric == Metric::euclidean) {
    return std::sqrt(key);
  }
  return is_similarity(metric) ? -key + 0.0 : key;
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

void append(Answer& answer, const std::vector<KeyAndId>& found, Metric metric) {
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

}  // namespace

bool knows(Metric metric) {
  switch (metric) {
    case Metric::sqeuclidean:
    case Metric::euclidean:
    case Metric::inner_product:
    case Metric::cosine:
    case Metric::hamming:
    case Metric::l1:
    case Metric::linf:
    case Metric::jaccard:
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
      if (is_similarity(options.metric) ? value >= radius : value <= radius) {
        answer.ids.push_back(id);
        answer.keys.push_back(key);
        answer.distances.push_back(static_cast<float>(value));
      }
    }
    answer.offsets.push_back(static_cast<std::int64_t>(answer.ids.size()));
  }
  return answer;
}

}  // namespace nearfield::oracle
