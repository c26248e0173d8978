#pragma once

namespace nearfield {

// True if a CPU whose AMX is usable also multiplies tiles of bf16.
bool has_bf16_tiles();

}  // namespace nearfield
