// Minkowski distance: the sum of |x - y|^p.
struct lp {
  static constexpr MetricInput input = MetricInput::numbers;
  static constexpr Reported reported = Reported::p_th_root;
  static constexpr int sums = 1;

  double p;

  template <class N>
  NEARFIELD_INLINE void accumulate(N* sum, N x, N y) const {
    sum[0] = sum[0] + power(absolute(x - y), p);
  }

  template <class N>
  NEARFIELD_INLINE static N combine(N a, N b) {
    return a + b;
  }

  NEARFIELD_INLINE static double finish(const double* sum) { return sum[0]; }
};
