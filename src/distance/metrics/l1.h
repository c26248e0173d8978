// Manhattan distance: the sum of |x - y|.
struct l1 {
  static constexpr MetricInput input = MetricInput::numbers;
  static constexpr Reported reported = Reported::key;
  static constexpr int sums = 1;

  template <class N>
  NEARFIELD_INLINE static void accumulate(N* sum, N x, N y) {
    sum[0] = sum[0] + absolute(x - y);
  }

  template <class N>
  NEARFIELD_INLINE static N combine(N a, N b) {
    return a + b;
  }

  NEARFIELD_INLINE static double finish(const double* sum) { return sum[0]; }
};
