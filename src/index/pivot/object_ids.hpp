// What objects are called, and which of them are still there.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/monitor.hpp"

namespace nearfield {

// Rows of a file first, whose ids and table are read as they lie there until something is added.
class ObjectIds {
 public:
  ObjectIds() = default;
  // Of a file, which must stay. next: the first number that was never used.
  ObjectIds(std::span<const std::int64_t> ids, std::span<const std::uint32_t> table,
            std::int64_t next);

  // Not copied: what it looks at may be its own.
  ObjectIds(ObjectIds&&) = default;
  ObjectIds& operator=(ObjectIds&&) = default;

  std::int64_t rows() const { return std::ssize(ids_); }
  std::int64_t live() const { return rows() - removed_; }
  std::int64_t removed() const { return removed_; }
  std::int64_t next() const { return next_; }
  std::int64_t bytes() const;
  // Of so many rows.
  static std::int64_t bytes_for(std::int64_t rows);

  std::span<const std::int64_t> ids() const { return ids_; }
  std::span<const std::uint32_t> table() const { return table_; }
  // A bit for each row that is there; empty where all are.
  std::span<const std::uint64_t> live_bits() const { return live_; }
  std::vector<std::int64_t> live_rows() const;
  // Throws corrupt_file where a file's table leads nowhere.
  std::optional<std::int64_t> find(std::int64_t id) const;

  // Throws invalid_argument for ids that are there, are there twice, or are none.
  void check_new(std::span<const std::int64_t> ids) const;
  // What fails leaves all as it was.
  void add(std::span<const std::int64_t> ids);
  // How many were there.
  std::int64_t remove(std::span<const std::int64_t> ids);

  // The same without the rows that are gone.
  ObjectIds compacted() const;

 private:
  bool is_live(std::int64_t row) const;
  std::vector<std::uint32_t> table_for(std::int64_t rows) const;
  void make_room_for(std::int64_t rows);

  std::span<const std::int64_t> ids_;
  std::span<const std::uint32_t> table_;
  std::vector<std::int64_t> own_ids_;
  std::vector<std::uint32_t> own_table_;
  std::vector<std::uint64_t> live_;
  std::int64_t removed_ = 0;
  std::int64_t next_ = 0;
};

}  // namespace nearfield
