#include "io/colmap_schema.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/fail.hpp"

namespace nearfield {
namespace {

// PRAGMA user_version: of COLMAP 4.2.1 4020100, of 3.8 3800, and of databases that scripts made
// often 0.
constexpr std::int64_t kVersion4 = 4'000'000;
constexpr std::int64_t kVersion5 = 5'000'000;

struct NeededTable {
  std::string_view name;
  std::string_view key;  // by which its rows lie in the file
  std::vector<std::string_view> columns;
};

// The columns of a table that hold values, and whether `key` alone is its primary key.
struct FoundTable {
  std::vector<std::string> columns;
  bool has_key = false;

  bool has(std::string_view column) const {
    return std::ranges::find(columns, column) != columns.end();
  }
};

std::int64_t read_user_version(const SqliteDatabase& database) {
  SqliteStatement asked = database.prepare("PRAGMA user_version");
  asked.step();
  return asked.integer(0).value_or(-1);
}

[[noreturn]] void fail_schema(const SqliteDatabase& database, std::int64_t user_version,
                              const std::string& what) {
  fail(ErrorCode::unsupported,
       "{}: {} (user_version {}): only databases of COLMAP 3 and 4 are known; make one with its "
       "feature_extractor",
       database.path(), what, user_version);
}

// "table", or what else has the name; empty where nothing has.
std::string kind_of(const SqliteDatabase& database, std::string_view name) {
  SqliteStatement asked =
      database.prepare("SELECT type FROM pragma_table_list(?) WHERE schema = 'main'");
  asked.bind(1, name);
  return asked.step() ? std::string(asked.text(0).value_or("")) : std::string();
}

FoundTable describe_table(const SqliteDatabase& database, std::string_view name,
                          std::string_view key) {
  constexpr std::int64_t kHolds = 0;  // others are generated, or hidden in a virtual table
  SqliteStatement asked =
      database.prepare("SELECT name, type, pk, hidden FROM pragma_table_xinfo(?)");
  asked.bind(1, name);
  FoundTable found;
  std::int64_t keys = 0;
  bool is_key = false;
  while (asked.step()) {
    const std::string column(asked.text(0).value_or(""));
    const bool in_key = asked.integer(2) != 0;
    keys += in_key ? 1 : 0;
    is_key = is_key || (in_key && column == key && asked.text(1) == "INTEGER");
    if (asked.integer(3) == kHolds) found.columns.push_back(column);
  }
  found.has_key = is_key && keys == 1;
  return found;
}

FoundTable check_table(const SqliteDatabase& database, const NeededTable& needed,
                       std::int64_t user_version) {
  const std::string kind = kind_of(database, needed.name);
  if (kind.empty()) {
    fail_schema(database, user_version, fmt::format("has no table {}", needed.name));
  }
  if (kind != "table") {
    fail_schema(database, user_version,
                fmt::format("{} is a {}, not a table that holds rows", needed.name,
                            kind == "view" ? kind : kind + " table"));
  }
  FoundTable found = describe_table(database, needed.name, needed.key);
  if (!found.has_key) {
    fail_schema(database, user_version,
                fmt::format("table {} has no INTEGER PRIMARY KEY {}", needed.name, needed.key));
  }
  for (const std::string_view column : needed.columns) {
    if (!found.has(column)) {
      fail_schema(database, user_version,
                  fmt::format("table {} has no column {}", needed.name, column));
    }
  }
  return found;
}

}  // namespace

ColmapSchema read_colmap_schema(const SqliteDatabase& database) {
  const std::int64_t user_version = read_user_version(database);
  if (user_version < 0 || user_version >= kVersion5) {
    fail_schema(database, user_version, "is of a COLMAP that is not known");
  }
  check_table(database, {"images", "image_id", {"name"}}, user_version);
  check_table(database, {"matches", "pair_id", {"rows", "cols", "data"}}, user_version);
  check_table(database, {"two_view_geometries", "pair_id", {}}, user_version);
  NeededTable descriptors{"descriptors", "image_id", {"rows", "cols", "data"}};
  if (user_version >= kVersion4) descriptors.columns.emplace_back("type");
  const FoundTable found = check_table(database, descriptors, user_version);
  return {.has_descriptor_type = found.has("type")};
}

}  // namespace nearfield
