// x^p for metrics, the same bits everywhere: the C library's pow differs between CPUs and devices.
// Freestanding, like sum_tree.h. ARCHITECTURE.md, "Powers", is the definition; x is not negative.

// a * b = result + error, exactly, without a fused multiply-add (Dekker 1971): each factor is cut
// into halves of 26 bits.
struct ExactProduct {
  double result;
  double error;
};

NEARFIELD_INLINE double upper_half(double a) {
  const double shifted = a * 134217729.0;  // 2^27 + 1
  return shifted - (shifted - a);
}

NEARFIELD_INLINE ExactProduct exact_product(double a, double b) {
  const double result = a * b;
  const double a1 = upper_half(a);
  const double b1 = upper_half(b);
  const double a2 = a - a1;
  const double b2 = b - b1;
  return {result, ((a1 * b1 - result) + a1 * b2 + a2 * b1) + a2 * b2};
}

// log2(x) = result + error to about 2^-60 of it, x finite and positive.
NEARFIELD_INLINE ExactProduct logarithm(double x) {
  using Bits = decltype(sizeof(0));
  double exponent = -1023;
  if (x < 0x1p-1022) {
    x = x * 0x1p54;
    exponent = -1077;
  }
  const Bits bits = __builtin_bit_cast(Bits, x);
  exponent = exponent + static_cast<double>(static_cast<int>(bits >> 52));
  double m = __builtin_bit_cast(double, (bits & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000);
  if (m > 0x1.6a09e667f3bcdp0) {  // the root of 2
    m = m * 0.5;
    exponent = exponent + 1;
  }
  // log m = 2 atanh s, s = (m - 1) / (m + 1), at most 0.172.
  const double above = m - 1;
  const double sum = m + 1;
  const double sum_error = m - (sum - 1);
  const double s = above / sum;
  const ExactProduct back = exact_product(s, sum);
  const double s_error = (((above - back.result) - back.error) - s * sum_error) / sum;
  const double s2 = s * s;
  double series = 1.0 / 25;
  for (int odd = 23; odd >= 3; odd -= 2) series = series * s2 + 1.0 / odd;
  const double rest = s_error + s * (series * s2);
  const double t = s + rest;
  const double t_error = rest - (t - s);
  // Times 2 / log 2, which is the sum of these two numbers.
  const double upper = 0x1.71547652b82fep1;
  const double lower = 0x1.777d0ffda0d24p-55;
  const ExactProduct scaled = exact_product(upper, t);
  const double scaled_error = scaled.error + (upper * t_error + lower * t);
  const double result = exponent + scaled.result;
  return {result, (scaled.result - (result - exponent)) + scaled_error};
}

// 2^n for a whole n of a normal float64.
NEARFIELD_INLINE double two_to_the(int n) {
  using Bits = decltype(sizeof(0));
  return __builtin_bit_cast(double, static_cast<Bits>(n + 1023) << 52);
}

// Any p. Within 2 units of the last place for p up to 6, 20 for p up to 1000
// (tests/unit/distance/power_test.cpp).
NEARFIELD_INLINE double any_power(double x, double p) {
  if (!(x > 0 && x <= 0x1.fffffffffffffp1023)) return x;  // 0, infinity and NaN
  const ExactProduct log2 = logarithm(x);
  const ExactProduct y = exact_product(p, log2.result);
  if (y.result > 1025) return __builtin_huge_val();
  if (y.result < -1080) return 0;
  const double whole = (y.result + 0x1.8p52) - 0x1.8p52;  // rounds to the nearest whole number
  const double fraction = (y.result - whole) + (y.error + p * log2.error);
  const double z = fraction * 0x1.62e42fefa39efp-1;  // log 2; z is at most 0.35
  double series = 1;
  for (int i = 13; i >= 1; --i) series = series * (z * (1.0 / i)) + 1;
  const int n = static_cast<int>(whole);
  const int first = n / 2;  // in two steps, since the result may be subnormal
  return series * two_to_the(first) * two_to_the(n - first);
}

// p = twice / 2: a product of x, x^2, x^4, ... and perhaps the root of x.
template <class N>
NEARFIELD_INLINE N half_integer_power(N x, int twice) {
  N result = twice % 2 != 0 ? square_root(x) : x;
  bool started = twice % 2 != 0;
  for (int whole = twice / 2; whole > 0; whole /= 2) {
    if (whole % 2 != 0) {
      result = started ? result * x : x;
      started = true;
    }
    if (whole > 1) x = x * x;
  }
  return result;
}

template <class N>
NEARFIELD_INLINE N power(N x, double p) {
  const int twice = static_cast<int>(2 * p);
  return 2 * p == twice ? half_integer_power(x, twice) : any_power(x, p);
}
