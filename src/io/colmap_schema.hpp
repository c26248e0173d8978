// What a database must hold for COLMAP's matches.
#pragma once

#include "io/sqlite.hpp"

namespace nearfield {

struct ColmapSchema {
  // Since 4.0 a number says what the descriptors are; before there was SIFT only.
  bool has_descriptor_type;
};

// Throws what is missing, or that COLMAP is newer than those whose schema is known.
ColmapSchema read_colmap_schema(const SqliteDatabase& database);

}  // namespace nearfield
