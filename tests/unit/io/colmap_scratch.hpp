// Databases as COLMAP makes them, and worse ones, written by SQLite itself.
#pragma once

#include <sqlite3.h>

#include <stdexcept>
#include <string>

#include "temp_folder.hpp"

namespace nearfield::test {

// What of COLMAP's tables matching needs.
inline const std::string kColmapTables =
    "CREATE TABLE images(image_id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, name TEXT NOT NULL "
    "UNIQUE, camera_id INTEGER NOT NULL, "
    "CONSTRAINT image_id_check CHECK(image_id >= 0 and image_id < 2147483647));"
    "CREATE TABLE matches(pair_id INTEGER PRIMARY KEY NOT NULL, rows INTEGER NOT NULL, cols "
    "INTEGER "
    "NOT NULL, data BLOB);"
    "CREATE TABLE two_view_geometries(pair_id INTEGER PRIMARY KEY NOT NULL, rows INTEGER NOT NULL, "
    "cols INTEGER NOT NULL, data BLOB, config INTEGER NOT NULL);";
inline const std::string kColmap38 =
    kColmapTables +
    "CREATE TABLE descriptors(image_id INTEGER PRIMARY KEY NOT NULL, rows INTEGER NOT NULL, cols "
    "INTEGER NOT NULL, data BLOB);"
    "PRAGMA user_version = 3800;";
inline const std::string kColmap42 =
    kColmapTables +
    "CREATE TABLE descriptors(image_id INTEGER PRIMARY KEY NOT NULL, type INTEGER NOT NULL, rows "
    "INTEGER NOT NULL, cols INTEGER NOT NULL, data BLOB);"
    "PRAGMA user_version = 4020100;";

// A connection that trusts what it is told.
class Scratch {
 public:
  explicit Scratch(const std::string& path) {
    if (sqlite3_open(path.c_str(), &database_) != SQLITE_OK) throw std::runtime_error(path);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { sqlite3_close(database_); }

  // The values of all rows, "1 2|3 4|".
  std::string run(const std::string& sql) {
    std::string said;
    const auto add = [](void* text, int columns, char** values, char**) {
      for (int i = 0; i < columns; ++i) {
        *static_cast<std::string*>(text) +=
            (i ? " " : "") + std::string(values[i] ? values[i] : "");
      }
      *static_cast<std::string*>(text) += "|";
      return 0;
    };
    if (sqlite3_exec(database_, sql.c_str(), add, &said, nullptr) != SQLITE_OK) {
      throw std::runtime_error(sql + ": " + sqlite3_errmsg(database_));
    }
    return said;
  }

 private:
  sqlite3* database_ = nullptr;
};

// A file in the folder, made by these statements.
inline std::string make_database(const TempFolder& folder, const std::string& sql) {
  static int made = 0;
  const std::string path = folder.path(std::to_string(++made) + ".db");
  Scratch(path).run(sql);
  return path;
}

}  // namespace nearfield::test
