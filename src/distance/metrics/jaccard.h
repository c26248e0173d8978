// Jaccard distance of two sets of bits: what is in one of them, over what is in either; 0 for two
// empty sets.
struct jaccard {
  static constexpr MetricInput input = MetricInput::bits;
  static constexpr Reported reported = Reported::key;
  static constexpr int sums = 2;  // in one, in either

  template <class N>
  NEARFIELD_INLINE static void accumulate(N* sum, N x, N y) {
    sum[0] = sum[0] + population_count(x ^ y);
    sum[1] = sum[1] + population_count(x | y);
  }

  template <class N>
  NEARFIELD_INLINE static N combine(N a, N b) {
    return a + b;
  }

  NEARFIELD_INLINE static double finish(const double* sum) {
    return sum[1] == 0 ? 0 : sum[0] / sum[1];
  }
};
