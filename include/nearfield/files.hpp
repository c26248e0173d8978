// Vector files: .fbin (f32), .f16bin, .u8bin, .i8bin: uint32 rows, uint32 columns, then the rows,
// all little-endian. .ibin is the same with int32 and holds ids.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <nearfield/matrix.hpp>
#include <nearfield/rows.hpp>

namespace nearfield {

struct FileOptions {
  // If not 0, the bytes of a .u8bin are packed bits, this many a row.
  std::int64_t bits = 0;
};

// Opens a file for reading in pieces: no more of it is in memory than is asked for. The header is
// checked against the size of the file before anything is allocated.
std::unique_ptr<RowSource> open_rows(const std::string& path, const FileOptions& options = {});

// All of it.
Matrix read_matrix(const std::string& path, const FileOptions& options = {});

// All ids of an .ibin, row after row, -1 where a row had fewer.
std::vector<std::int64_t> read_ids(const std::string& path);

// Both write beside the target and rename, so that a reader sees the old file or the new one.
// The ending of the name must be that of the matrix's type. A device or a pipe (/dev/null,
// /dev/stdout) has no ending and is written directly.
void write_matrix(const std::string& path, MatrixView matrix);
void write_ids(const std::string& path, std::span<const std::int64_t> ids, std::int64_t rows,
               std::int64_t cols);

}  // namespace nearfield
