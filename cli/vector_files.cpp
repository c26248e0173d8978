#include "vector_files.hpp"

#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <nearfield/error.hpp>

#include "interrupt.hpp"
#include "load_plugin.hpp"

namespace nearfield::cli {
namespace {

constexpr std::array<std::string_view, 2> kHdf5Endings{".hdf5", ".h5"};

// The two parts of FILE.hdf5:DATASET, with no dataset where the path ends before it.
std::optional<PluginPath> split(const std::string& path) {
  for (const std::string_view ending : kHdf5Endings) {
    if (path.ends_with(ending)) {
      return PluginPath{path, ""};
    }
    const auto at = path.rfind(std::string(ending) + ":");
    if (at != std::string::npos) {
      const auto colon = at + ending.size();
      return PluginPath{path.substr(0, colon), path.substr(colon + 1)};
    }
  }
  return std::nullopt;
}

const FilePlugin& hdf5(const PluginPath& path) { return load_plugin("hdf5", path.file); }

// As split, and there must be a dataset.
std::optional<PluginPath> table_of(const std::string& path) {
  auto table = split(path);
  if (table && table->dataset.empty()) {
    std::string known;
    std::error_code ignored;
    if (std::filesystem::exists(table->file, ignored)) {
      for (const PluginDataset& dataset : hdf5(*table).list(table->file).datasets) {
        known += (known.empty() ? "; it has " : ", ") + dataset.name;
      }
    }
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: an HDF5 file holds several tables: name one, as in {}:train{}",
                            path, table->file, known));
  }
  return table;
}

// What reads the file; one that is no HDF5 may be something else that can be recognised.
template <class Read>
auto read_hdf5(const PluginPath& path, const Read& read) {
  try {
    return read(hdf5(path));
  } catch (const Error& error) {
    const auto what = error.code() == ErrorCode::corrupt_file ? recognise_file(path.file)
                                                              : std::optional<std::string>();
    if (!what) {
      throw;
    }
    throw Error(error.code(), fmt::format("{}: {}", path.file, *what));
  }
}

}  // namespace

std::unique_ptr<RowSource> open_vectors(const std::string& path, const FileOptions& options) {
  const auto table = table_of(path);
  if (!table) {
    return open_rows(path, options);
  }
  if (options.bits != 0) {
    throw Error(
        ErrorCode::unsupported,
        fmt::format("{}: packed bits are not read from HDF5: convert it to a .u8bin", path));
  }
  return read_hdf5(*table, [&](const FilePlugin& plugin) { return plugin.open_rows(*table); });
}

IdTable read_id_table(const std::string& path) {
  const auto table = table_of(path);
  if (!table) {
    return read_ids(path);
  }
  return read_hdf5(*table, [&](const FilePlugin& plugin) { return plugin.read_ids(*table); });
}

void write_vectors(const std::string& path, MatrixView matrix) {
  const auto writer = create_vectors(path, matrix.dtype(), matrix.rows(), matrix.cols());
  writer->append(matrix);
  writer->commit();
}

void write_id_table(const std::string& path, std::span<const std::int64_t> ids, std::int64_t rows,
                    std::int64_t cols) {
  if (const auto table = table_of(path)) {
    hdf5(*table).write_ids(*table, ids, rows, cols);
  } else {
    write_ids(path, ids, rows, cols, interrupt_token());
  }
}

std::unique_ptr<RowWriter> create_vectors(const std::string& path, DType dtype, std::int64_t rows,
                                          std::int64_t cols) {
  const auto table = table_of(path);
  return table ? hdf5(*table).create_rows(*table, dtype, rows, cols)
               : create_rows(path, dtype, rows, cols, interrupt_token());
}

void check_can_add(const std::string& path) {
  if (const auto table = table_of(path)) {
    hdf5(*table).check_can_add(*table);
  }
}

FileInfo describe_file(const std::string& path) {
  const auto table = table_of(path);
  if (!table) {
    return file_info(path);
  }
  return read_hdf5(*table, [&](const FilePlugin& plugin) { return plugin.info(*table); });
}

std::optional<PluginListing> list_tables(const std::string& path) {
  const auto table = split(path);
  if (!table || !table->dataset.empty()) {
    return std::nullopt;
  }
  return read_hdf5(*table, [&](const FilePlugin& plugin) { return plugin.list(table->file); });
}

bool is_hdf5(const std::string& path) { return split(path).has_value(); }

std::string file_of(const std::string& path) {
  const auto table = split(path);
  return table ? table->file : path;
}

}  // namespace nearfield::cli
