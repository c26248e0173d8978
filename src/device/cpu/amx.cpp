#include "device/cpu/amx.hpp"

#if defined(__x86_64__) && defined(__linux__)

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace nearfield {
namespace {

// Of leaf 7: AMX-TILE and AMX-INT8.
bool cpu_has_tiles() {
  constexpr unsigned kTileAndInt8 = 1U << 24 | 1U << 25;
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 &&
         (edx & kTileAndInt8) == kTileAndInt8;
}

bool may_use_tiles() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM, of Linux 5.16
  constexpr long kTileData = 18;               // the number of this part of a thread's state
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

bool amx_is_usable() {
  static const bool usable = cpu_has_tiles() && may_use_tiles();
  return usable;
}

}  // namespace nearfield

#else

namespace nearfield {
bool amx_is_usable() { return false; }
}  // namespace nearfield

#endif
