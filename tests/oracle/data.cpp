#include "tests/oracle/data.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <stdexcept>

#include "core/random.hpp"

namespace nearfield::data {
namespace {

constexpr std::array kKinds = {
    Kind::uniform,    Kind::gaussian,  Kind::small_integers,  Kind::all_equal,
    Kind::duplicates, Kind::zeros,     Kind::offset,          Kind::offset_large,
    Kind::wild_norms, Kind::denormals, Kind::with_non_finite, Kind::one_dimension_dominates,
    Kind::huge,
};

// What "ordinary" means for a type, and where its limits lie.
struct Range {
  double centre;  // of ordinary values
  double reach;   // half the width of ordinary values
  double offset;  // kinds offset and offset_large
  double offset_step;
  double far_offset;
  double far_step;
  double decades;       // of lengths in wild_norms
  double least;         // smallest positive value
  int least_multiples;  // log2 of how many multiples of it are exact
  double root_of_top;   // its square is near the overflow of this type
  double top;           // 5 times this still is finite, or clamped for a type that saturates
};

Range range_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return {0, 1, 1e4, 1e-2, 1e6, 1e-2, 30, std::ldexp(1.0, -1074), 53, 1e154, 1e307};
    case DType::f32:
      return {0, 1, 1e4, 1e-2, 1e6, 1, 10, std::ldexp(1.0, -149), 24, 1e19, 1e38};
    case DType::f16:
      return {0, 1, 1e3, 1, 1e4, 16, 2.5, std::ldexp(1.0, -24), 11, 1e2, 2e4};
    case DType::bf16:
      return {0, 1, 256, 4, 1e4, 256, 10, std::ldexp(1.0, -133), 8, 1e19, 1e38};
    case DType::u8:
      return {127.5, 127.5, 200, 2, 250, 2, 2, 1, 1, 16, 1e3};
    case DType::i8:
      return {-0.5, 127.5, 100, 2, -120, 2, 2, 1, 1, 11, 1e3};
    case DType::bits:
      return {0.5, 1, 0.7, 0.2, 0.3, 0.2, 1, 1, 1, 1, 1};
  }
  throw std::logic_error("no range for this type");
}

bool is_float(DType dtype) {
  return dtype == DType::f64 || dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

std::int64_t element_bytes(DType dtype) {
  return dtype == DType::f64 ? 8 : dtype == DType::f32 ? 4 : is_float(dtype) ? 2 : 1;
}

// Rounds to nearest even in the 16-bit format with this many mantissa bits; finite values saturate.
std::uint16_t encode_16_bits(double value, int mantissa_bits) {
  const int exponent_bits = 15 - mantissa_bits;
  const int infinity = ((1 << exponent_bits) - 1) << mantissa_bits;
  const int least_exponent = 2 - (1 << (exponent_bits - 1));
  const double magnitude = std::fabs(value);
  int bits = 0;
  if (std::isnan(value)) {
    bits = infinity + 1;
  } else if (std::isinf(value)) {
    bits = infinity;
  } else if (magnitude > 0) {
    const int exponent = std::clamp(std::ilogb(magnitude), least_exponent, 1 << exponent_bits);
    // In units of the last place; the leading one, where there is one, carries into the exponent.
    const double units = std::nearbyint(std::ldexp(magnitude, mantissa_bits - exponent));
    const double encoded = std::ldexp(exponent - least_exponent, mantissa_bits) + units;
    bits = static_cast<int>(std::min(encoded, static_cast<double>(infinity - 1)));
  }
  return static_cast<std::uint16_t>(bits | (std::signbit(value) ? 0x8000 : 0));
}

float to_f32(double value) {
  constexpr double kMost = std::numeric_limits<float>::max();
  return static_cast<float>(std::isfinite(value) ? std::clamp(value, -kMost, kMost) : value);
}

template <class T>
void store(std::byte* row, std::size_t i, T value) {
  std::memcpy(row + i * sizeof(T), &value, sizeof(T));
}

void encode(DType dtype, std::span<const double> values, std::byte* row) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i];
    switch (dtype) {
      case DType::f64:
        store(row, i, value);
        break;
      case DType::f32:
        store(row, i, to_f32(value));
        break;
      case DType::f16:
        store(row, i, encode_16_bits(value, 10));
        break;
      case DType::bf16:
        store(row, i, encode_16_bits(value, 7));
        break;
      case DType::u8:
        store(row, i, static_cast<std::uint8_t>(std::nearbyint(std::clamp(value, 0.0, 255.0))));
        break;
      case DType::i8:
        store(row, i, static_cast<std::int8_t>(std::nearbyint(std::clamp(value, -128.0, 127.0))));
        break;
      case DType::bits:
        row[i / 8] |= static_cast<std::byte>(value > 0.5 ? 1 << (i % 8) : 0);
        break;
    }
  }
}

void fill_normal(Random& random, double centre, double spread, std::span<double> row) {
  for (double& value : row) {
    value = centre + spread * random.normal();
  }
}

void fill_denormals(Random& random, const Shape& shape, const Range& range, std::span<double> row) {
  // A third of the f64 rows: squares are denormal and the product of two norms is zero.
  const bool small_squares = shape.dtype == DType::f64 && random.below(3) == 0;
  const std::int64_t multiples = std::int64_t{1} << range.least_multiples;
  for (double& value : row) {
    const double sign = random.below(2) == 0 ? -1 : 1;
    value = small_squares ? 1e-160 * random.normal()
                          : sign * range.least * static_cast<double>(random.below(multiples));
  }
}

void fill_huge(Random& random, const Range& range, std::span<double> row) {
  const std::array<double, 3> sizes = {range.reach, range.root_of_top, range.top};
  fill_normal(random, 0, sizes[static_cast<std::size_t>(random.below(3))], row);
}

void spoil(Random& random, std::span<double> row) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr std::array<double, 3> kBad = {std::numeric_limits<double>::quiet_NaN(), kInfinity,
                                          -kInfinity};
  if (random.below(5) == 0) {
    const std::int64_t column = random.below(static_cast<std::int64_t>(row.size()));
    row[static_cast<std::size_t>(column)] = kBad[static_cast<std::size_t>(random.below(3))];
  }
}

void let_one_dominate(const Shape& shape, std::span<double> row) {
  // Integers saturate: there the other columns shrink instead.
  const std::size_t dominant = shape.seed % row.size();
  for (std::size_t j = 0; j < row.size(); ++j) {
    if (is_float(shape.dtype)) {
      row[j] *= j == dominant ? 100 : 1;
    } else {
      row[j] *= j == dominant ? 1 : 0.02;
    }
  }
}

void fill_row(Random& random, const Shape& shape, std::span<double> row) {
  const Range range = range_of(shape.dtype);
  const double spread = range.reach / 3;
  switch (shape.kind) {
    case Kind::uniform:
      for (double& value : row) {
        value = range.centre + range.reach * (2 * random.uniform() - 1);
      }
      break;
    case Kind::gaussian:
    case Kind::all_equal:
    case Kind::duplicates:
      fill_normal(random, range.centre, spread, row);
      break;
    case Kind::small_integers:
      for (double& value : row) {
        value = static_cast<double>(random.below(5) - 2);
      }
      break;
    case Kind::zeros:
      if (random.below(3) != 0) {
        fill_normal(random, range.centre, spread, row);
      }
      break;
    case Kind::offset:
      fill_normal(random, range.offset, range.offset_step, row);
      break;
    case Kind::offset_large:
      fill_normal(random, range.far_offset, range.far_step, row);
      break;
    case Kind::wild_norms:
      fill_normal(random, 0,
                  range.reach * std::pow(10.0, range.decades * (random.uniform() * 2 - 1)), row);
      break;
    case Kind::one_dimension_dominates:
      fill_normal(random, range.centre, spread, row);
      let_one_dominate(shape, row);
      break;
    case Kind::denormals:
      fill_denormals(random, shape, range, row);
      break;
    case Kind::with_non_finite:
      fill_normal(random, range.centre, spread, row);
      if (is_float(shape.dtype)) {
        spoil(random, row);
      }
      break;
    case Kind::huge:
      fill_huge(random, range, row);
      break;
  }
}

// Every row has a stream of random numbers of its own; rows of one stream are equal.
std::uint64_t stream_of(const Shape& shape, std::int64_t row) {
  if (shape.kind == Kind::all_equal) {
    return 0;
  }
  if (shape.kind == Kind::duplicates) {
    Random random(shape.seed, ~static_cast<std::uint64_t>(row));
    return static_cast<std::uint64_t>(random.below(std::max<std::int64_t>(shape.rows / 4, 1)));
  }
  return static_cast<std::uint64_t>(row);
}

}  // namespace

std::span<const Kind> kinds() { return kKinds; }

std::string_view to_string(Kind kind) {
  switch (kind) {
    case Kind::uniform:
      return "uniform";
    case Kind::gaussian:
      return "gaussian";
    case Kind::small_integers:
      return "small_integers";
    case Kind::all_equal:
      return "all_equal";
    case Kind::duplicates:
      return "duplicates";
    case Kind::zeros:
      return "zeros";
    case Kind::offset:
      return "offset";
    case Kind::offset_large:
      return "offset_large";
    case Kind::wild_norms:
      return "wild_norms";
    case Kind::one_dimension_dominates:
      return "one_dimension_dominates";
    case Kind::denormals:
      return "denormals";
    case Kind::with_non_finite:
      return "with_non_finite";
    case Kind::huge:
      return "huge";
  }
  throw std::logic_error("no name for this kind");
}

Matrix make_matrix(const Shape& shape) {
  Matrix matrix(shape.dtype, shape.rows, shape.cols);
  std::vector<double> row(static_cast<std::size_t>(shape.cols));
  for (std::int64_t i = 0; i < shape.rows; ++i) {
    Random random(shape.seed, stream_of(shape, i));
    std::fill(row.begin(), row.end(), 0.0);
    fill_row(random, shape, row);
    encode(shape.dtype, row, matrix.row(i));
  }
  return matrix;
}

Strided::Strided(MatrixView original, std::int64_t extra_bytes, std::int64_t offset_elements)
    : start_(offset_elements * element_bytes(original.dtype())),
      rows_(original.rows()),
      cols_(original.cols()),
      stride_(0),
      dtype_(original.dtype()) {
  const std::int64_t size = element_bytes(dtype_);
  const std::int64_t bytes = dtype_ == DType::bits ? (cols_ + 7) / 8 : cols_ * size;
  stride_ = bytes + (extra_bytes + size - 1) / size * size;
  const std::int64_t end = rows_ == 0 ? start_ : start_ + (rows_ - 1) * stride_ + bytes;
  memory_.assign(static_cast<std::size_t>(end), std::byte{0xFF});
  for (std::int64_t i = 0; i < rows_; ++i) {
    std::memcpy(memory_.data() + start_ + i * stride_, original.row(i),
                static_cast<std::size_t>(bytes));
  }
}

void PiecewiseRows::read(std::int64_t first, std::int64_t count, Matrix& into,
                         std::int64_t at) const {
  if (reading_.exchange(true)) {
    throw std::logic_error("read was called from two threads at once");
  }
  if (first < 0 || count < 0 || first + count > view_.rows()) {
    throw std::logic_error("read was asked for rows that are not there");
  }
  if (into.dtype() != view_.dtype() || into.cols() != view_.cols() || at < 0 ||
      at + count > into.rows()) {
    throw std::logic_error("read was given a buffer that does not fit");
  }
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(into.row(at + i), view_.row(first + i),
                static_cast<std::size_t>(row_bytes(view_.dtype(), view_.cols())));
  }
  reading_ = false;
}

RowChoice::RowChoice(RowFilter::Kind kind, std::int64_t rows, std::uint64_t seed) : kind_(kind) {
  Random random(seed);
  for (std::int64_t i = 0; i < (rows + 63) / 64 + 1; ++i) {
    words_.push_back(random.next_u64());
  }
  for (std::int64_t i = 0; i < rows / 2; ++i) {
    ids_.push_back(random.below(rows));
  }
}

RowFilter RowChoice::filter() const {
  switch (kind_) {
    case RowFilter::Kind::all:
      return {};
    case RowFilter::Kind::bitset:
      return RowFilter::bitset(words_);
    case RowFilter::Kind::list:
      return RowFilter::list(ids_);
  }
  throw std::logic_error("no filter of this kind");
}

namespace {

// Pairs of values of two factors that no combination holds yet, the lower factor first.
class OpenPairs {
 public:
  explicit OpenPairs(const std::vector<int>& sizes) {
    const int factors = static_cast<int>(sizes.size());
    for (int f = 0; f < factors; ++f) {
      for (int g = f + 1; g < factors; ++g) {
        for (int v = 0; v < sizes[static_cast<std::size_t>(f)]; ++v) {
          for (int w = 0; w < sizes[static_cast<std::size_t>(g)]; ++w) {
            open_.insert({f, v, g, w});
          }
        }
      }
    }
  }

  bool empty() const { return open_.empty(); }
  std::array<int, 4> first() const { return *open_.begin(); }

  // How many open pairs the value v of factor f makes with the values chosen so far.
  int gain(const std::vector<int>& chosen, int f, int v) const {
    int count = 0;
    for (int g = 0; g < static_cast<int>(chosen.size()); ++g) {
      const int w = chosen[static_cast<std::size_t>(g)];
      if (g != f && w >= 0) {
        count += open_.contains(g < f ? Pair{g, w, f, v} : Pair{f, v, g, w}) ? 1 : 0;
      }
    }
    return count;
  }

  void close(const std::vector<int>& chosen) {
    std::erase_if(open_, [&](const Pair& pair) {
      return chosen[static_cast<std::size_t>(pair[0])] == pair[1] &&
             chosen[static_cast<std::size_t>(pair[2])] == pair[3];
    });
  }

 private:
  using Pair = std::array<int, 4>;
  std::set<Pair> open_;
};

}  // namespace

std::vector<std::vector<int>> all_pairs(const std::vector<int>& sizes) {
  OpenPairs open(sizes);
  std::vector<std::vector<int>> combinations;
  while (!open.empty()) {
    std::vector<int> chosen(sizes.size(), -1);
    const auto [f0, v0, g0, w0] = open.first();
    chosen[static_cast<std::size_t>(f0)] = v0;
    chosen[static_cast<std::size_t>(g0)] = w0;
    for (std::size_t f = 0; f < sizes.size(); ++f) {
      int best_gain = -1;
      // Rotated, so that ties do not always go to the first value.
      for (int i = 0; i < sizes[f] && (best_gain >= 0 || chosen[f] < 0); ++i) {
        const int v = (i + static_cast<int>(combinations.size())) % sizes[f];
        const int gain = open.gain(chosen, static_cast<int>(f), v);
        if (gain > best_gain) {
          best_gain = gain;
          chosen[f] = v;
        }
      }
    }
    open.close(chosen);
    combinations.push_back(chosen);
  }
  return combinations;
}

}  // namespace nearfield::data
