// SQLite, for a database that somebody else wrote. The one place that knows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace nearfield {

// One run of a statement. It holds a lock on the file until it is destroyed.
class SqliteStatement {
 public:
  // Parameters are numbered from 1. Bytes must stay as they are until the last step.
  SqliteStatement& bind(int parameter, std::int64_t value);
  SqliteStatement& bind(int parameter, std::string_view text);
  SqliteStatement& bind(int parameter, std::span<const std::byte> bytes);

  // True while there is a row.
  bool step();

  // All of a statement that has no rows; one that has some is an error.
  void run();

  // Of the row, columns numbered from 0. Empty where the value is of another type, which SQLite
  // allows in any column. Text and bytes are there until the next step; bytes of NULL are none.
  std::optional<std::int64_t> integer(int column) const;
  std::optional<std::string_view> text(int column) const;
  std::optional<std::span<const std::byte>> bytes(int column) const;

  // A number, or what else the value is: for errors.
  std::string describe(int column) const;

 private:
  friend class SqliteDatabase;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };

  SqliteStatement(sqlite3_stmt* statement, const std::string& path)
      : statement_(statement), path_(&path) {}

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  const std::string* path_;  // the database's
};

class SqliteDatabase {
 public:
  // An existing regular file, for reading and writing if the system allows.
  explicit SqliteDatabase(const std::string& path);
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

  const std::string& path() const { return path_; }
  bool is_read_only() const;
  bool in_transaction() const;  // some errors end one

  SqliteStatement prepare(const std::string& sql) const;
  void execute(const std::string& sql) const { prepare(sql).run(); }

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };

  void check_is_database();

  std::string path_;
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace nearfield
