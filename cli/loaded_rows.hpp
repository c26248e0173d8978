// Rows of a file for what takes all of them at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <nearfield/context.hpp>
#include <nearfield/files.hpp>
#include <nearfield/matrix.hpp>
#include <nearfield/rows.hpp>

namespace nearfield::cli {

class LoadedRows {
 public:
  // What is read is taken off the memory limit, and an error where it is beyond it; a file that is
  // mapped is not read.
  LoadedRows(const std::string& path, const FileOptions& options, Context& context);

  MatrixView view() const { return view_; }

 private:
  std::unique_ptr<RowSource> source_;
  Matrix copy_;
  MatrixView view_;
};

}  // namespace nearfield::cli
