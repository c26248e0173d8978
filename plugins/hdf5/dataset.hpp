// An open table of a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "cli/file_plugin.hpp"
#include "handle.hpp"
#include "value_type.hpp"

namespace nearfield::hdf5 {

Handle open_to_read(const std::string& file);

// Rows x columns of a type that is known, and of a size that is possible.
class Dataset {
 public:
  explicit Dataset(const cli::PluginPath& path);

  const std::string& name() const { return name_; }  // FILE:DATASET
  const ValueType& type() const { return *type_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }

  // Rows [first, first + count) as values of `memory_type`, `stride` of them from row to row.
  void read(std::int64_t first, std::int64_t count, hid_t memory_type, std::int64_t stride,
            void* out) const;

 private:
  void read_shape();

  std::string name_;
  Handle file_;
  Handle dataset_;
  const ValueType* type_ = nullptr;
  int dimensions_ = 0;
  std::int64_t rows_ = 0;
  std::int64_t cols_ = 1;
};

}  // namespace nearfield::hdf5
