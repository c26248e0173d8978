// Which Highway target is which Isa, in one place, for translation units that hold one copy of
// their code a target (after <hwy/foreach_target.h> or <hwy/detect_targets.h>).
#pragma once

#if HWY_TARGETS & HWY_SCALAR
#define NEARFIELD_IF_SCALAR(x) x(scalar, N_SCALAR, HWY_SCALAR)
#elif HWY_TARGETS & HWY_EMU128
#define NEARFIELD_IF_SCALAR(x) x(scalar, N_EMU128, HWY_EMU128)
#else
#define NEARFIELD_IF_SCALAR(x)
#endif

#if HWY_TARGETS & HWY_SSSE3
#define NEARFIELD_IF_SSSE3(x) x(ssse3, N_SSSE3, HWY_SSSE3)
#else
#define NEARFIELD_IF_SSSE3(x)
#endif

#if HWY_TARGETS & HWY_AVX2
#define NEARFIELD_IF_AVX2(x) x(avx2, N_AVX2, HWY_AVX2)
#else
#define NEARFIELD_IF_AVX2(x)
#endif

#if HWY_TARGETS & HWY_AVX3
#define NEARFIELD_IF_AVX512(x) x(avx512, N_AVX3, HWY_AVX3)
#else
#define NEARFIELD_IF_AVX512(x)
#endif

#if HWY_TARGETS & HWY_AVX3_DL
#define NEARFIELD_IF_AVX512ICL(x) x(avx512icl, N_AVX3_DL, HWY_AVX3_DL)
#else
#define NEARFIELD_IF_AVX512ICL(x)
#endif

#if HWY_TARGETS & HWY_NEON
#define NEARFIELD_IF_NEON(x) x(neon, N_NEON, HWY_NEON)
#else
#define NEARFIELD_IF_NEON(x)
#endif

// x(isa, Highway's namespace, Highway's bit) for every target that was built, worst to best.
#define NEARFIELD_FOR_EACH_TARGET(x) \
  NEARFIELD_IF_SCALAR(x)             \
  NEARFIELD_IF_SSSE3(x)              \
  NEARFIELD_IF_AVX2(x)               \
  NEARFIELD_IF_AVX512(x)             \
  NEARFIELD_IF_AVX512ICL(x)          \
  NEARFIELD_IF_NEON(x)
