// The instruction sets Nearfield has kernels for.
#pragma once

#include <string_view>
#include <vector>

namespace nearfield {

// Worst to best within an architecture. Results are the same bits on all of them.
enum class Isa {
  scalar,      // portable C++; not built where every machine has better (AArch64)
  ssse3,       // x86-64: every CPU since 2006
  avx2,        // Haswell, Zen
  avx512,      // Skylake-X: F, BW, DQ, VL
  avx512vnni,  // Cascade Lake: and VNNI
  avx512icl,   // Ice Lake, Zen 4: and VPOPCNTDQ, BITALG, VBMI2
  amx,         // Sapphire Rapids: and AMX-INT8
  neon,        // AArch64
};

std::string_view to_string(Isa isa);
Isa parse_isa(std::string_view name);

// Those this library was built with and this CPU can run, worst to best.
std::vector<Isa> available_isas();

// The one a search uses when the context names none: the environment variable NEARFIELD_ISA if set
// (an unknown or unavailable name is an error), else the last of available_isas().
Isa default_isa();

}  // namespace nearfield
