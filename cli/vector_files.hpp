// The files that commands read and write: those of the library by their ending, and the tables of
// an HDF5 file, FILE.hdf5:DATASET or FILE.h5:DATASET, through its plugin.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <nearfield/files.hpp>

#include "file_plugin.hpp"

namespace nearfield::cli {

std::unique_ptr<RowSource> open_vectors(const std::string& path, const FileOptions& options = {});

IdTable read_id_table(const std::string& path);

void write_vectors(const std::string& path, MatrixView matrix);
void write_id_table(const std::string& path, std::span<const std::int64_t> ids, std::int64_t rows,
                    std::int64_t cols);

std::unique_ptr<RowWriter> create_vectors(const std::string& path, DType dtype, std::int64_t rows,
                                          std::int64_t cols);

// Whether a table can be added to an HDF5 file, asked before there is one; throws if not. About the
// files of the library it says nothing.
void check_can_add(const std::string& path);

FileInfo describe_file(const std::string& path);

// What a path without a dataset names: the whole HDF5 file. Empty for other files.
std::optional<PluginListing> list_tables(const std::string& path);

// An HDF5 file, with or without a dataset. What follows the colon is no ending.
bool is_hdf5(const std::string& path);

// The file itself, without the dataset.
std::string file_of(const std::string& path);

}  // namespace nearfield::cli
