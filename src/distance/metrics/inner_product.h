// Inner product: the larger the sum of x*y, the closer.
struct inner_product {
  static constexpr MetricInput input = MetricInput::numbers;
  static constexpr Reported reported = Reported::similarity;
  static constexpr int sums = 1;

  template <class N>
  NEARFIELD_INLINE static void accumulate(N* sum, N x, N y) {
    sum[0] = sum[0] + x * y;
  }

  template <class N>
  NEARFIELD_INLINE static N combine(N a, N b) {
    return a + b;
  }

  NEARFIELD_INLINE static double finish(const double* sum) { return -sum[0]; }
};
