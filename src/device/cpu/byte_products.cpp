#include "device/cpu/byte_products.hpp"

#include "device/bf16_tiles.hpp"

#if defined(__x86_64__) && defined(__linux__)

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace nearfield {
namespace {

// Of leaf 7, in ECX,
constexpr unsigned kVnni = 1U << 11;
// and in EDX.
constexpr unsigned kBf16 = 1U << 22;
constexpr unsigned kTile = 1U << 24;
constexpr unsigned kInt8 = 1U << 25;

struct Leaf {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
};

// All zeros where the CPU has no such leaf.
Leaf leaf_7() {
  Leaf leaf;
  if (__get_cpuid_count(7, 0, &leaf.eax, &leaf.ebx, &leaf.ecx, &leaf.edx) == 0) return {};
  return leaf;
}

bool has_all(unsigned word, unsigned features) { return (word & features) == features; }

bool may_use_tiles() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM, of Linux 5.16
  constexpr long kTileData = 18;               // the number of this part of a thread's state
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

bool has_vnni() {
  static const bool has = has_all(leaf_7().ecx, kVnni);
  return has;
}

bool amx_is_usable() {
  static const bool usable = has_all(leaf_7().edx, kTile | kInt8) && may_use_tiles();
  return usable;
}

bool has_bf16_tiles() {
  static const bool has = has_all(leaf_7().edx, kTile | kBf16);
  return has;
}

}  // namespace nearfield

#else

namespace nearfield {
bool has_vnni() { return false; }
bool amx_is_usable() { return false; }
bool has_bf16_tiles() { return false; }
}  // namespace nearfield

#endif
