# The flags of every translation unit of the project.
add_library(nearfield_flags INTERFACE)

target_compile_options(
  nearfield_flags
  INTERFACE -Wall
            -Wextra
            -Wconversion
            # Not in somebody else's build, whose compiler may know more warnings.
            $<$<BOOL:${NEARFIELD_WERROR}>:-Werror>
            # g++ 12 warns of std::string + char without reason (GCC bug 105329).
            $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
            # Keys are sums without fused multiply-add: with contraction 9 % of them differ between
            # compilers and ISAs. tests/unit/distance/contraction_test.cpp fails without this flag.
            -ffp-contract=off)

if(NEARFIELD_SANITIZE)
  target_compile_options(nearfield_flags INTERFACE -fsanitize=${NEARFIELD_SANITIZE}
                                                   -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(nearfield_flags INTERFACE -fsanitize=${NEARFIELD_SANITIZE})
endif()

# Highway's targets: SSE4 gains nothing over SSSE3 here; SVE registers have no size to build packs of.
set(disabled "HWY_SSE4|HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128")
if(NEARFIELD_FEW_TARGETS)
  string(APPEND disabled "|HWY_SSSE3|HWY_AVX3_DL")
endif()
set(NEARFIELD_HIGHWAY_DEFINITIONS HWY_WANT_AVX3_DL=1
                                  "HWY_DISABLED_TARGETS=(${disabled})")
