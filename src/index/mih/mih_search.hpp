// Searches by multi-index hashing, of parts that have tables.
#pragma once

#include <cstdint>

#include <nearfield/context.hpp>
#include <nearfield/results.hpp>

#include "index/family.hpp"

namespace nearfield {

// flat: scans what is not looked up. The answers are its own.
Neighbors mih_search(const Family& flat, MatrixView queries, std::span<const AskedPart> parts,
                     std::int64_t k, const Context& context);
Ranges mih_within(const Family& flat, MatrixView queries, std::span<const AskedPart> parts,
                  double radius, const Context& context);

}  // namespace nearfield
