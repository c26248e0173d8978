#include "dataset.hpp"

#include <filesystem>
#include <system_error>
#include <vector>

#include <fmt/ranges.h>

#include "listing.hpp"
#include "row_slab.hpp"

namespace nearfield::hdf5 {
namespace {

std::string known_datasets(const std::string& file) {
  std::vector<std::string> names;
  for (const cli::PluginDataset& dataset : list(file).datasets) {
    names.push_back(dataset.name);
  }
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

void check_possible(const std::string& name, const ValueType& type, std::int64_t rows,
                    std::int64_t cols) {
  const std::int64_t most_cols = type.dtype ? kMaxCols : INT32_MAX;
  std::int64_t bytes = 0;
  if (rows > kMaxRows || cols > most_cols || __builtin_mul_overflow(rows, cols * 8, &bytes)) {
    fail(ErrorCode::unsupported, "{}: has {} rows of {} columns, the limits are {} and {}", name,
         rows, cols, kMaxRows, most_cols);
  }
  if (rows > 0 && cols == 0) {
    fail(ErrorCode::corrupt_file, "{}: has {} rows of 0 columns", name, rows);
  }
}

}  // namespace

Handle open_to_read(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    fail(ErrorCode::io, "{}: cannot open for reading: {}", file,
         error ? error.message() : "is not a regular file");
  }
  Handle handle(H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!handle.valid()) {
    fail_hdf5(ErrorCode::corrupt_file, file, "read as HDF5");
  }
  return handle;
}

Dataset::Dataset(const cli::PluginPath& path)
    : name_(path.file + ":" + path.dataset), file_(open_to_read(path.file)) {
  dataset_ = Handle(H5Dopen2(file_.get(), path.dataset.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset_.valid()) {
    fail(ErrorCode::invalid_argument, "{}: there is no such dataset; the file has {}", name_,
         known_datasets(path.file));
  }
  const Handle type(H5Dget_type(dataset_.get()), H5Tclose);
  type_ = find_type(type.get());
  if (type_ == nullptr) {
    fail(ErrorCode::unsupported,
         "{}: holds values of {}, expected {} (vectors), int32 or int64 (ids)", name_,
         describe_type(type.get()), known_types());
  }
  read_shape();
  check_possible(name_, *type_, rows_, cols_);
}

void Dataset::read_shape() {
  const Handle space(H5Dget_space(dataset_.get()), H5Sclose);
  const std::vector<std::int64_t> shape = shape_of(space.get());
  dimensions_ = static_cast<int>(shape.size());
  if (dimensions_ != 2 && (dimensions_ != 1 || type_->dtype)) {
    fail(ErrorCode::unsupported,
         "{}: its shape is ({}), {} dimensions, expected 2 (1 or 2 for ids)", name_,
         fmt::join(shape, ", "), dimensions_);
  }
  rows_ = shape[0];
  cols_ = dimensions_ == 2 ? shape[1] : 1;
}

void Dataset::read(std::int64_t first, std::int64_t count, hid_t memory_type, std::int64_t stride,
                   void* out) const {
  if (count == 0) {
    return;
  }
  if (!RowSlab(dataset_, first, count, cols_, stride).read(memory_type, out)) {
    fail_hdf5(ErrorCode::corrupt_file, name_,
              fmt::format("read {} rows from row {} on", count, first));
  }
}

}  // namespace nearfield::hdf5
