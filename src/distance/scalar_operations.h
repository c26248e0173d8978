// What metrics may call on a single float64. Freestanding, like sum_tree.h.
NEARFIELD_INLINE double square_root(double x) { return __builtin_sqrt(x); }
NEARFIELD_INLINE double absolute(double x) { return __builtin_fabs(x); }

// NaN if either is.
NEARFIELD_INLINE double larger(double a, double b) { return a > b || a != a ? a : b; }

// clang-format off
#include "distance/power.h"
// clang-format on
