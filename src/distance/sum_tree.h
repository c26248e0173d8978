// The fixed tree that joins the eight partial sums. Freestanding: included inside the namespace of
// every CPU target and by the device compilers, after NEARFIELD_INLINE is defined.
//
// Element i of a row goes to partial sum i mod 8; then i joins i + 4, i + 2, i + 1. Eight is the
// float64 lanes of an AVX-512 register; AVX2 uses two registers, NEON four, a GPU thread a loop.
template <class M>
NEARFIELD_INLINE double combine_tree(const double* s) {
  const double a = M::template combine<double>(s[0], s[4]);
  const double b = M::template combine<double>(s[1], s[5]);
  const double c = M::template combine<double>(s[2], s[6]);
  const double d = M::template combine<double>(s[3], s[7]);
  return M::template combine<double>(M::template combine<double>(a, c),
                                     M::template combine<double>(b, d));
}

// Adding 0 turns -0 into 0, so that equal keys are the same bits.
template <class M>
NEARFIELD_INLINE double key_from_totals(const double* totals) {
  return M::finish(totals) + 0.0;
}

// `sums` holds M::sums groups of eight.
template <class M>
NEARFIELD_INLINE double key_from_sums(const double* sums) {
  double totals[M::sums];
  for (int i = 0; i < M::sums; ++i) totals[i] = combine_tree<M>(sums + 8 * i);
  return key_from_totals<M>(totals);
}
