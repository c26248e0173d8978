// Searches by error-weighted hashing.
#pragma once

#include <cstdint>
#include <span>

#include "index/family.hpp"

namespace nearfield {

// `flat` searches rows without tables. Results are approximate unless all rows are such.
Neighbors ewh_search(const Family& flat, MatrixView queries, std::span<const AskedPart> parts,
                     std::int64_t k, const Context& context);
Ranges ewh_within(const Family& flat, MatrixView queries, std::span<const AskedPart> parts,
                  double radius, const Context& context);

}  // namespace nearfield
