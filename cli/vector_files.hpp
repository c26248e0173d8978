// The files that commands read and write, in every format they know.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <nearfield/files.hpp>

namespace nearfield::cli {

std::unique_ptr<RowSource> open_vectors(const std::string& path, const FileOptions& options = {});

IdTable read_id_table(const std::string& path);

void write_vectors(const std::string& path, MatrixView matrix);
void write_id_table(const std::string& path, std::span<const std::int64_t> ids, std::int64_t rows,
                    std::int64_t cols);

}  // namespace nearfield::cli
