#include "device/cpu/amx.hpp"

#include "device/bf16_tiles.hpp"

#if defined(__x86_64__) && defined(__linux__)

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace nearfield {
namespace {

// Of leaf 7, in EDX.
constexpr unsigned kBf16 = 1U << 22;
constexpr unsigned kTile = 1U << 24;
constexpr unsigned kInt8 = 1U << 25;

bool cpu_has(unsigned features) {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx & features) == features;
}

bool may_use_tiles() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM, of Linux 5.16
  constexpr long kTileData = 18;               // the number of this part of a thread's state
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

bool amx_is_usable() {
  static const bool usable = cpu_has(kTile | kInt8) && may_use_tiles();
  return usable;
}

bool has_bf16_tiles() {
  static const bool has = cpu_has(kTile | kBf16);
  return has;
}

}  // namespace nearfield

#else

namespace nearfield {
bool amx_is_usable() { return false; }
bool has_bf16_tiles() { return false; }
}  // namespace nearfield

#endif
