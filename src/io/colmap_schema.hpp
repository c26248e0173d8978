// What a database must hold for COLMAP's matches.
#pragma once

#include <cstdint>

#include "io/sqlite.hpp"

namespace nearfield {

struct ColmapSchema {
  // Of COLMAP 4.2.1 4020100, of 3.8 3800, and of databases that scripts made often 0.
  std::int64_t user_version;
  // Since 4.0 a number says what the descriptors are; before there was SIFT only.
  bool has_descriptor_type;
};

// Throws what is missing, or that COLMAP is newer than those whose schema is known.
ColmapSchema read_colmap_schema(const SqliteDatabase& database);

}  // namespace nearfield
