// What "mih" may be told: "mih", "mih,tables=16".
#pragma once

#include <cstdint>

#include <nearfield/index.hpp>

namespace nearfield {

struct MihParameters {
  // 0: as many as the rows and what their bits tell ask for, so that a bucket has about one row.
  // Fewer have more bits each, at most about log2 of the rows, and leave some bits out.
  std::int64_t tables = 0;
};

// Throws invalid_argument for what mih does not have, and for vectors it cannot hash.
MihParameters parse_mih(const IndexSpec& spec);

}  // namespace nearfield
