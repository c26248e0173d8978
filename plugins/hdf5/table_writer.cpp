#include "table_writer.hpp"

#include <filesystem>
#include <system_error>

#include "dataset.hpp"
#include "row_slab.hpp"

namespace nearfield::hdf5 {
namespace {

Handle open_to_write(const ReplacedFile& replaced, const std::string& path) {
  const std::string& copy = replaced.copy();
  Handle file(replaced.is_new() ? H5Fcreate(copy.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT)
                                : H5Fopen(copy.c_str(), H5F_ACC_RDWR, H5P_DEFAULT),
              H5Fclose);
  if (!file.valid()) {
    fail_hdf5(replaced.is_new() ? ErrorCode::io : ErrorCode::corrupt_file, path,
              "open as HDF5 to add a dataset");
  }
  return file;
}

std::string name_of(const cli::PluginPath& path) { return path.file + ":" + path.dataset; }

// Nothing of the whole name is there, and of "a/b/c" a and a/b are groups or not there either.
void check_free(const Handle& file, const cli::PluginPath& path) {
  for (auto slash = path.dataset.find('/', 1);; slash = path.dataset.find('/', slash + 1)) {
    const std::string part = path.dataset.substr(0, slash);
    if (H5Lexists(file.get(), part.c_str(), H5P_DEFAULT) <= 0) {
      return;
    }
    if (slash == std::string::npos) {
      fail(ErrorCode::invalid_argument, "{}: the file has a dataset of this name: choose another",
           name_of(path));
    }
    const Handle object(H5Oopen(file.get(), part.c_str(), H5P_DEFAULT), H5Oclose);
    if (H5Iget_type(object.get()) != H5I_GROUP) {
      fail(ErrorCode::invalid_argument,
           "{}: cannot be added: '{}' is there, and no group: choose another name", name_of(path),
           part);
    }
  }
}

}  // namespace

void check_can_add(const cli::PluginPath& path) {
  std::error_code ignored;
  if (std::filesystem::status(path.file, ignored).type() == std::filesystem::file_type::not_found) {
    return;
  }
  check_free(open_to_read(path.file), path);
}

TableWriter::TableWriter(const cli::PluginPath& path, const ValueType& type, std::int64_t rows,
                         std::int64_t cols)
    : name_(name_of(path)),
      rows_(rows),
      cols_(cols),
      replaced_(path.file),
      file_(open_to_write(replaced_, path.file)) {
  check_free(file_, path);
  create(path.dataset, type);
}

// All in one piece, as ann-benchmarks does: then rows need no search, and nothing is unpacked.
void TableWriter::create(const std::string& dataset, const ValueType& type) {
  const hsize_t shape[2] = {to_hsize(rows_), to_hsize(cols_)};
  const Handle space(H5Screate_simple(2, shape, nullptr), H5Sclose);
  const Handle groups(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(groups.get(), 1);
  dataset_ = Handle(H5Dcreate2(file_.get(), dataset.c_str(), type.memory, space.get(), groups.get(),
                               H5P_DEFAULT, H5P_DEFAULT),
                    H5Dclose);
  if (!dataset_.valid()) {
    fail_hdf5(ErrorCode::io, name_, "create the dataset");
  }
}

void TableWriter::append(std::int64_t count, hid_t memory_type, std::int64_t stride,
                         const void* values) {
  if (count > rows_ - done_) {
    fail(ErrorCode::invalid_argument, "{}: {} rows cannot follow {} of the {} announced", name_,
         count, done_, rows_);
  }
  if (count == 0) {
    return;
  }
  if (!RowSlab(dataset_, done_, count, cols_, stride).write(memory_type, values)) {
    fail_hdf5(ErrorCode::io, name_, fmt::format("write {} rows from row {} on", count, done_));
  }
  done_ += count;
}

void TableWriter::commit() {
  if (done_ != rows_) {
    fail(ErrorCode::invalid_argument, "{}: {} rows were announced, got {}", name_, rows_, done_);
  }
  if (!dataset_.close() || !file_.close()) {
    fail_hdf5(ErrorCode::io, name_, "finish writing");
  }
  replaced_.commit();
}

}  // namespace nearfield::hdf5
