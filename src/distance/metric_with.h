// A metric as a value. Freestanding, like sum_tree.h.
//
// lp is made of its p; every other metric has nothing but static functions, which can be called
// through a value too.
template <class M>
NEARFIELD_INLINE auto metric_with(double p, int /*for lp*/) -> decltype(M{p}) {
  return M{p};
}
template <class M>
NEARFIELD_INLINE M metric_with(double /*p*/, long /*for the others*/) {
  return M{};
}
