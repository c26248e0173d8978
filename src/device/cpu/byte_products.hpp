// What CPUs have to multiply bytes.
#pragma once

namespace nearfield {

// AVX-512 VNNI; whether the kernel keeps the registers of AVX-512 is not asked.
bool has_vnni();

// True if this CPU multiplies tiles of bytes and the kernel lets this process do so. Linux saves
// the 8 KiB of tiles only for a process that has asked: the first call asks, for all its threads
// and for the children it will have.
bool amx_is_usable();

}  // namespace nearfield
