// Files that the library does not read, because of what reading them takes: a plugin is a shared
// library of its own, loaded when a path asks for it, and only the plugin knows the format. It is
// built with the command line, and with the same compiler.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <nearfield/files.hpp>

namespace nearfield::cli {

// One of the tables in a file.
struct PluginPath {
  std::string file;
  std::string dataset;
};

struct PluginDataset {
  std::string name;
  std::string type;  // as in FileInfo, or what else it is
  std::vector<std::int64_t> shape;
};

struct PluginAttribute {
  std::string name;
  std::string value;
};

struct PluginListing {
  std::vector<PluginDataset> datasets;
  std::vector<PluginAttribute> attributes;
};

// Throws Error, as the functions of <nearfield/files.hpp> do.
class FilePlugin {
 public:
  virtual ~FilePlugin() = default;

  virtual PluginListing list(const std::string& file) const = 0;
  virtual FileInfo info(const PluginPath& path) const = 0;
  virtual std::unique_ptr<RowSource> open_rows(const PluginPath& path) const = 0;
  virtual IdTable read_ids(const PluginPath& path) const = 0;

  // Throws what `create_rows` would for this path, as far as the file shows it now: a file that is
  // of another format, or has a table of that name. No file is fine.
  virtual void check_can_add(const PluginPath& path) const = 0;

  // Adds a table to the file, which is made if it is not there; a table of that name is an error.
  virtual std::unique_ptr<RowWriter> create_rows(const PluginPath& path, DType dtype,
                                                 std::int64_t rows, std::int64_t cols) const = 0;
  virtual void write_ids(const PluginPath& path, std::span<const std::int64_t> ids,
                         std::int64_t rows, std::int64_t cols) const = 0;
};

// What the shared library exports, with the version of Nearfield it was built for: the interface
// above is C++ and fits no other.
struct PluginEntry {
  const char* version;
  const FilePlugin& (*plugin)();
};
inline constexpr const char* kPluginSymbol = "nearfield_file_plugin";

}  // namespace nearfield::cli
