// A new table of a file, written in pieces.
#pragma once

#include <cstdint>
#include <string>

#include "cli/file_plugin.hpp"
#include "handle.hpp"
#include "replaced_file.hpp"
#include "value_type.hpp"

namespace nearfield::hdf5 {

// Throws if a table of this name cannot be added to the file, as it is now; no file is fine.
void check_can_add(const cli::PluginPath& path);

class TableWriter {
 public:
  TableWriter(const cli::PluginPath& path, const ValueType& type, std::int64_t rows,
              std::int64_t cols);

  const std::string& name() const { return name_; }  // FILE:DATASET

  // The next rows, as values of `memory_type`, `stride` of them from row to row.
  void append(std::int64_t count, hid_t memory_type, std::int64_t stride, const void* values);

  // Throws unless all rows were appended.
  void commit();

 private:
  void create(const std::string& dataset, const ValueType& type);

  std::string name_;
  std::int64_t rows_;
  std::int64_t cols_;
  std::int64_t done_ = 0;
  ReplacedFile replaced_;
  Handle file_;
  Handle dataset_;
};

}  // namespace nearfield::hdf5
