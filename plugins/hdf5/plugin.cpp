// The tables of HDF5 files, such as those of ann-benchmarks: train, test, neighbors, distances.
#include <filesystem>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "cli/file_plugin.hpp"
#include "dataset.hpp"
#include "listing.hpp"
#include "table_writer.hpp"

namespace nearfield::hdf5 {
namespace {

class DatasetRows final : public RowSource {
 public:
  explicit DatasetRows(const cli::PluginPath& path) : dataset_(path) {
    if (!dataset_.type().dtype) {
      fail(ErrorCode::invalid_argument, "{}: holds {} ({} x {}), not vectors", dataset_.name(),
           dataset_.type().name, dataset_.rows(), dataset_.cols());
    }
  }

  DType dtype() const override { return *dataset_.type().dtype; }
  std::int64_t rows() const override { return dataset_.rows(); }
  std::int64_t cols() const override { return dataset_.cols(); }

  void read(std::int64_t first, std::int64_t count, Matrix& into, std::int64_t at) const override {
    dataset_.read(first, count, dataset_.type().memory, into.stride_bytes() / dataset_.type().bytes,
                  into.row(at));
  }

 private:
  Dataset dataset_;
};

class DatasetWriter final : public RowWriter {
 public:
  DatasetWriter(const cli::PluginPath& path, const ValueType& type, std::int64_t rows,
                std::int64_t cols)
      : type_(type), cols_(cols), table_(path, type, rows, cols) {}

  void append(MatrixView rows) override {
    if (rows.dtype() != type_.dtype || rows.cols() != cols_) {
      fail(ErrorCode::invalid_argument, "{}: rows of {} {} were announced, got others of {}",
           table_.name(), cols_, type_.name, rows.cols());
    }
    table_.append(rows.rows(), type_.memory, rows.stride_bytes() / type_.bytes, rows.row(0));
  }

  void commit() override { table_.commit(); }

 private:
  const ValueType& type_;
  std::int64_t cols_;
  TableWriter table_;
};

void check_ids(const cli::PluginPath& path, std::span<const std::int64_t> ids, std::int64_t rows,
               std::int64_t cols) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (std::ssize(ids) != rows * cols) {
    fail(ErrorCode::invalid_argument, "{}:{}: {} rows x {} columns need {} ids, got {}", path.file,
         path.dataset, rows, cols, rows * cols, ids.size());
  }
  for (std::int64_t i = 0; const std::int64_t id : ids) {
    if (id < -1 || id > kMost) {
      fail(ErrorCode::invalid_argument,
           "{}:{}: id {} in row {}, column {} does not fit int32: write a .npy instead", path.file,
           path.dataset, id, i / cols, i % cols);
    }
    ++i;
  }
}

class Hdf5Plugin final : public cli::FilePlugin {
 public:
  // Errors are reported by us, not printed by HDF5.
  Hdf5Plugin() { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

  cli::PluginListing list(const std::string& file) const override { return hdf5::list(file); }

  FileInfo info(const cli::PluginPath& path) const override {
    const Dataset dataset(path);
    const ValueType& type = dataset.type();
    return {"HDF5",         type.dtype ? FileInfo::Content::vectors : FileInfo::Content::ids,
            type.name,      dataset.rows(),
            dataset.cols(), static_cast<std::int64_t>(std::filesystem::file_size(path.file))};
  }

  std::unique_ptr<RowSource> open_rows(const cli::PluginPath& path) const override {
    return std::make_unique<DatasetRows>(path);
  }

  IdTable read_ids(const cli::PluginPath& path) const override {
    const Dataset dataset(path);
    if (dataset.type().dtype) {
      fail(ErrorCode::invalid_argument, "{}: holds {} vectors, not ids ({} x {})", dataset.name(),
           dataset.type().name, dataset.rows(), dataset.cols());
    }
    IdTable table{dataset.rows(), dataset.cols(), {}};
    try {
      table.ids.resize(static_cast<std::size_t>(table.rows * table.cols));
    } catch (const std::bad_alloc&) {
      fail(ErrorCode::memory_limit, "{}: no memory for its {} ids of 8 bytes", dataset.name(),
           table.rows * table.cols);
    }
    dataset.read(0, table.rows, int64_in_memory(), table.cols, table.ids.data());
    return table;
  }

  void check_can_add(const cli::PluginPath& path) const override { hdf5::check_can_add(path); }

  std::unique_ptr<RowWriter> create_rows(const cli::PluginPath& path, DType dtype,
                                         std::int64_t rows, std::int64_t cols) const override {
    const ValueType* const type = type_of(dtype);
    if (type == nullptr) {
      fail(ErrorCode::unsupported, "{}:{}: only vectors of {} are written to HDF5", path.file,
           path.dataset, known_types());
    }
    return std::make_unique<DatasetWriter>(path, *type, rows, cols);
  }

  void write_ids(const cli::PluginPath& path, std::span<const std::int64_t> ids, std::int64_t rows,
                 std::int64_t cols) const override {
    check_ids(path, ids, rows, cols);
    TableWriter writer(path, int32_ids(), rows, cols);
    writer.append(rows, int64_in_memory(), cols, ids.data());
    writer.commit();
  }
};

const cli::FilePlugin& plugin() {
  static const Hdf5Plugin kPlugin;
  return kPlugin;
}

}  // namespace
}  // namespace nearfield::hdf5

// The name in kPluginSymbol.
extern "C" const nearfield::cli::PluginEntry nearfield_file_plugin;
const nearfield::cli::PluginEntry nearfield_file_plugin{NEARFIELD_VERSION, nearfield::hdf5::plugin};
