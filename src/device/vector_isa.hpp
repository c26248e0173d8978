#pragma once

#include <nearfield/isa.hpp>

namespace nearfield {

// The ISA whose vectors go with this one, which is available here. Tiles do not compute with floats
// or count bits: with VNNI and AMX go the vectors of the best ISA before. Every other is its own.
Isa vector_isa(Isa isa);

}  // namespace nearfield
