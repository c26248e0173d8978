#include "io/sqlite.hpp"

#include <sqlite3.h>
#include <sys/stat.h>

#include <array>

#include "core/fail.hpp"
#include "io/recognise.hpp"
#include "io/system_calls.hpp"

namespace nearfield {
namespace {

constexpr int kBusyMilliseconds = 5000;

// Where SQLite's own limits are for statements that programs make up, these are for a schema like
// COLMAP's, whose longest statement has some 600 bytes.
struct SqliteLimit {
  int id;
  int most;
};
constexpr std::array kSqliteLimits{
    SqliteLimit{SQLITE_LIMIT_SQL_LENGTH, 100'000},
    SqliteLimit{SQLITE_LIMIT_COLUMN, 100},
    SqliteLimit{SQLITE_LIMIT_EXPR_DEPTH, 100},
    SqliteLimit{SQLITE_LIMIT_COMPOUND_SELECT, 10},
    SqliteLimit{SQLITE_LIMIT_VDBE_OP, 25'000},
    SqliteLimit{SQLITE_LIMIT_FUNCTION_ARG, 10},
    SqliteLimit{SQLITE_LIMIT_ATTACHED, 0},
    SqliteLimit{SQLITE_LIMIT_TRIGGER_DEPTH, 1},
    SqliteLimit{SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100},
    SqliteLimit{SQLITE_LIMIT_WORKER_THREADS, 0},
};

struct SqliteSwitch {
  int id;
  int value;
};
constexpr std::array kSqliteSwitches{
    SqliteSwitch{SQLITE_DBCONFIG_DEFENSIVE, 1},       // no writing to the schema or to free pages
    SqliteSwitch{SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},  // no functions with effects in the schema
    SqliteSwitch{SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
    SqliteSwitch{SQLITE_DBCONFIG_ENABLE_VIEW, 0},
    SqliteSwitch{SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
    SqliteSwitch{SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0},
};

ErrorCode code_of(int result) {
  switch (result & 0xff) {
    case SQLITE_NOMEM:
      return ErrorCode::memory_limit;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_IOERR:
    case SQLITE_FULL:
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH:
      return ErrorCode::io;
    case SQLITE_CONSTRAINT:
    case SQLITE_TOOBIG:
      return ErrorCode::unsupported;
    case SQLITE_MISUSE:
    case SQLITE_RANGE:
      return ErrorCode::invalid_argument;
    default:
      return ErrorCode::corrupt_file;
  }
}

std::string_view advice_of(int result) {
  switch (result & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another process writes to it: wait until it has finished, or end it, and start again";
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      return "the file and its folder must be writable, also for SQLite's files beside it";
    case SQLITE_FULL:
      return "make room on the disk and start again";
    case SQLITE_NOMEM:
      return "the system has no memory";
    case SQLITE_IOERR:
      return "the disk or the network folder failed; copy the file to a local disk";
    case SQLITE_CONSTRAINT:
      return "its schema asks for more than matches of COLMAP 3 and 4 have: match with the COLMAP "
             "that made it";
    case SQLITE_TOOBIG:
      return "a value has more than SQLite's 1,000,000,000 bytes, or a statement of the schema "
             "more than 100,000: extract fewer features";
    case SQLITE_MISUSE:
    case SQLITE_RANGE:
      return "SQLite was called wrongly, which is a mistake of this library: report it";
    default:
      return "the file is damaged or was not made by COLMAP; restore it, or make it anew";
  }
}

[[noreturn]] void fail_sqlite(const std::string& path, sqlite3* database, int result) {
  const std::string message = database ? sqlite3_errmsg(database) : sqlite3_errstr(result);
  fail(code_of(result), "{}: SQLite says '{}' ({}): {}", path, message, result, advice_of(result));
}

// Not by opening it: to close a file takes away all locks that this process has on it.
void check_is_regular_file(const std::string& path) {
  check_name(path);
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    fail_errno(path, "open the database");
  }
  if (!S_ISREG(status.st_mode)) {
    fail(ErrorCode::io, "{}: is {}, not a database", path,
         S_ISDIR(status.st_mode) ? "a folder" : "a device or a pipe");
  }
}

void protect(sqlite3* database, const std::string& path) {
  for (const SqliteLimit& limit : kSqliteLimits) {
    sqlite3_limit(database, limit.id, limit.most);
  }
  for (const SqliteSwitch& each : kSqliteSwitches) {
    int now = 0;
    const int result = sqlite3_db_config(database, each.id, each.value, &now);
    if (result != SQLITE_OK || now != each.value) {
      fail(ErrorCode::unsupported,
           "{}: SQLite {} has no switch {} to protect against hostile databases: link a newer one",
           path, sqlite3_libversion(), each.id);
    }
  }
}

}  // namespace

void SqliteStatement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

void SqliteDatabase::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

SqliteDatabase::SqliteDatabase(const std::string& path) : path_(path) {
  check_is_regular_file(path);
  // SQLite may be built to take such a name for an address, with options in it.
  const std::string name = path.starts_with("file:") ? "./" + path : path;
  sqlite3* opened = nullptr;
  const int result = sqlite3_open_v2(name.c_str(), &opened,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX, nullptr);
  database_.reset(opened);
  if (result != SQLITE_OK) fail_sqlite(path_, opened, result);
  sqlite3_extended_result_codes(opened, 1);
  sqlite3_busy_timeout(opened, kBusyMilliseconds);
  protect(opened, path_);
  check_is_database();
  execute("PRAGMA cell_size_check = ON");
}

// By the first statement that reads of the file. The connection is closed before the file is looked
// at by other means: see check_is_regular_file.
void SqliteDatabase::check_is_database() {
  const int result =
      sqlite3_exec(database_.get(), "PRAGMA schema_version", nullptr, nullptr, nullptr);
  if ((result & 0xff) == SQLITE_NOTADB) {
    database_.reset();
    reject(InputFile(path_), "is no SQLite database: begin with COLMAP's feature_extractor");
  }
  if (result != SQLITE_OK) fail_sqlite(path_, database_.get(), result);
}

bool SqliteDatabase::is_read_only() const {
  return sqlite3_db_readonly(database_.get(), "main") == 1;
}

bool SqliteDatabase::in_transaction() const { return sqlite3_get_autocommit(database_.get()) == 0; }

SqliteStatement SqliteDatabase::prepare(const std::string& sql) const {
  sqlite3_stmt* statement = nullptr;
  const int result = sqlite3_prepare_v2(database_.get(), sql.c_str(), static_cast<int>(sql.size()),
                                        &statement, nullptr);
  SqliteStatement prepared(statement, path_);
  if (result != SQLITE_OK) fail_sqlite(path_, database_.get(), result);
  return prepared;
}

SqliteStatement& SqliteStatement::bind(int parameter, std::int64_t value) {
  const int result = sqlite3_bind_int64(statement_.get(), parameter, value);
  if (result != SQLITE_OK) fail_sqlite(*path_, sqlite3_db_handle(statement_.get()), result);
  return *this;
}

SqliteStatement& SqliteStatement::bind(int parameter, std::string_view text) {
  const int result = sqlite3_bind_text64(statement_.get(), parameter, text.data(), text.size(),
                                         SQLITE_STATIC, SQLITE_UTF8);
  if (result != SQLITE_OK) fail_sqlite(*path_, sqlite3_db_handle(statement_.get()), result);
  return *this;
}

SqliteStatement& SqliteStatement::bind(int parameter, std::span<const std::byte> bytes) {
  const int result =
      sqlite3_bind_blob64(statement_.get(), parameter, bytes.data(), bytes.size(), SQLITE_STATIC);
  if (result != SQLITE_OK) fail_sqlite(*path_, sqlite3_db_handle(statement_.get()), result);
  return *this;
}

bool SqliteStatement::step() {
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_ROW) return true;
  if (result != SQLITE_DONE) fail_sqlite(*path_, sqlite3_db_handle(statement_.get()), result);
  return false;
}

void SqliteStatement::run() {
  if (step()) {
    fail(ErrorCode::invalid_argument, "{}: the statement '{}' has rows, but none are looked at",
         *path_, sqlite3_sql(statement_.get()));
  }
}

std::optional<std::int64_t> SqliteStatement::integer(int column) const {
  if (sqlite3_column_type(statement_.get(), column) != SQLITE_INTEGER) return std::nullopt;
  return sqlite3_column_int64(statement_.get(), column);
}

std::optional<std::string_view> SqliteStatement::text(int column) const {
  if (sqlite3_column_type(statement_.get(), column) != SQLITE_TEXT) return std::nullopt;
  const auto* const first =
      reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (first == nullptr) {
    fail_sqlite(*path_, sqlite3_db_handle(statement_.get()), SQLITE_NOMEM);
  }
  return std::string_view(first,
                          static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column)));
}

std::optional<std::span<const std::byte>> SqliteStatement::bytes(int column) const {
  const int type = sqlite3_column_type(statement_.get(), column);
  if (type == SQLITE_NULL) return std::span<const std::byte>();
  if (type != SQLITE_BLOB) return std::nullopt;
  const auto* const first =
      static_cast<const std::byte*>(sqlite3_column_blob(statement_.get(), column));
  const auto count = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  if (first == nullptr && count > 0) {
    fail_sqlite(*path_, sqlite3_db_handle(statement_.get()), SQLITE_NOMEM);
  }
  return std::span(first, count);
}

std::string SqliteStatement::describe(int column) const {
  switch (sqlite3_column_type(statement_.get(), column)) {
    case SQLITE_INTEGER:
      return fmt::format("{}", sqlite3_column_int64(statement_.get(), column));
    case SQLITE_FLOAT:
      return fmt::format("{}", sqlite3_column_double(statement_.get(), column));
    case SQLITE_NULL:
      return "NULL";
    case SQLITE_TEXT:
      return "text";
    default:
      return "bytes";
  }
}

}  // namespace nearfield
