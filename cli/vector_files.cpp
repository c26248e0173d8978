#include "vector_files.hpp"

namespace nearfield::cli {

std::unique_ptr<RowSource> open_vectors(const std::string& path, const FileOptions& options) {
  return open_rows(path, options);
}

IdTable read_id_table(const std::string& path) { return read_ids(path); }

void write_vectors(const std::string& path, MatrixView matrix) { write_matrix(path, matrix); }

void write_id_table(const std::string& path, std::span<const std::int64_t> ids, std::int64_t rows,
                    std::int64_t cols) {
  write_ids(path, ids, rows, cols);
}

}  // namespace nearfield::cli
