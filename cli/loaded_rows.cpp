#include "loaded_rows.hpp"

#include <fmt/format.h>
#include <nearfield/error.hpp>

#include "vector_files.hpp"

namespace nearfield::cli {
namespace {

void take_rows_off_limit(Context& context, std::int64_t bytes, const std::string& path) {
  if (!context.memory_limit) return;
  if (bytes > *context.memory_limit) {
    throw Error(ErrorCode::memory_limit,
                fmt::format("{}: takes {} bytes in memory but {} are left of the memory limit: "
                            "raise it, or convert the file to .npy, which is mapped",
                            path, bytes, *context.memory_limit));
  }
  *context.memory_limit -= bytes;
}

}  // namespace

LoadedRows::LoadedRows(const std::string& path, const FileOptions& options, Context& context)
    : source_(open_vectors(path, options)) {
  if (const auto mapped = source_->in_memory()) {
    view_ = *mapped;
    return;
  }
  take_rows_off_limit(context, source_->rows() * row_bytes(source_->dtype(), source_->cols()),
                      path);
  copy_ = Matrix(source_->dtype(), source_->rows(), source_->cols());
  source_->read(0, source_->rows(), copy_, 0);
  view_ = copy_.view();
}

}  // namespace nearfield::cli
