// Cosine similarity: dot / sqrt(nx * ny), 0 where a vector is zero.
struct cosine {
  static constexpr MetricInput input = MetricInput::numbers;
  static constexpr Reported reported = Reported::similarity;
  static constexpr int sums = 3;  // dot, nx, ny

  template <class N>
  NEARFIELD_INLINE static void accumulate(N* sum, N x, N y) {
    sum[0] = sum[0] + x * y;
    sum[1] = sum[1] + x * x;
    sum[2] = sum[2] + y * y;
  }

  template <class N>
  NEARFIELD_INLINE static N combine(N a, N b) {
    return a + b;
  }

  // The product of norms is symmetric, so that the similarity of (x, y) is that of (y, x).
  NEARFIELD_INLINE static double finish(const double* sum) {
    if (sum[1] == 0 || sum[2] == 0) return sum[0] * 0;  // 0, or NaN where the other row is
    return -(sum[0] / square_root(sum[1] * sum[2]));
  }
};
