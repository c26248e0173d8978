#include <nearfield/files.hpp>

#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "core/checked.hpp"
#include "core/fail.hpp"
#include "io/file_rows.hpp"
#include "io/format.hpp"
#include "io/id_values.hpp"
#include "io/recognise.hpp"
#include "io/shape.hpp"
#include "io/truth_file.hpp"

namespace nearfield {
namespace {

struct OpenFile {
  InputFile file;
  const FileFormat& format;
  FileLayout layout;
};

OpenFile open_vectors(const std::string& path, const CancelToken& cancel = {}) {
  const FileFormat& format = format_of(path);
  InputFile file(path, cancel);
  const FileLayout layout = format.read_layout(file, format);
  if (layout.cols == 0 && layout.rows > 0) {
    reject(file, "says it has {} rows of 0 columns; only a file of 0 rows may have no columns",
           layout.rows);
  }
  return {std::move(file), format, layout};
}

// Ground truth has no ending of its own, but big-ann calls some of it .ibin. An .ibin of int64 ids,
// which some programs write, has the same header and size: its values must look like ground truth.
bool is_truth(const InputFile& file, const FileFormat* format) {
  if (format == nullptr) return has_truth_size(file);
  const bool is_empty = file.size() == kPairHeaderBytes;
  return format->ending == ".ibin" && !is_empty && has_truth_size(file) && looks_like_truth(file);
}

// What a search sees of the values.
struct Vectors {
  DType dtype;
  std::int64_t cols;
};

Vectors bits_of(const std::string& path, const FileLayout& layout, std::int64_t bits) {
  if (layout.value.dtype != DType::u8) {
    fail(ErrorCode::invalid_argument,
         "{}: bits = {} was given, but it holds {}; bits are in bytes (u8): {}", path, bits,
         to_string(layout.value), endings_for(DType::bits));
  }
  if (bits < 0 || bits > kMaxCols) {
    fail(ErrorCode::invalid_argument, "{}: bits = {} is not between 0 and {}", path, bits,
         kMaxCols);
  }
  if (divide_up(bits, 8) != layout.cols) {
    fail(ErrorCode::invalid_argument,
         "{}: bits = {} need {} bytes a row, but the file has {} columns (bytes)", path, bits,
         divide_up(bits, 8), layout.cols);
  }
  return {DType::bits, bits};
}

Vectors vectors_of(const std::string& path, const FileLayout& layout, std::int64_t bits) {
  if (!layout.value.dtype) {
    fail(ErrorCode::invalid_argument, "{}: holds {} ({} x {}), not vectors", path,
         to_string(layout.value), layout.rows, layout.cols);
  }
  if (layout.rows > kMaxRows || layout.cols > kMaxCols) {
    fail(ErrorCode::unsupported, "{}: has {} rows of {} columns, the limits are {} and {}", path,
         layout.rows, layout.cols, kMaxRows, kMaxCols);
  }
  return bits == 0 ? Vectors{*layout.value.dtype, layout.cols} : bits_of(path, layout, bits);
}

std::int64_t most_id(const FileValue& value) {
  return value.bytes == kIds64.bytes ? std::numeric_limits<std::int64_t>::max()
                                     : std::numeric_limits<std::int32_t>::max();
}

}  // namespace

std::unique_ptr<RowSource> open_rows(const std::string& path, const FileOptions& options) {
  auto [file, format, layout] = open_vectors(path);
  const auto [dtype, cols] = vectors_of(path, layout, options.bits);
  if (format.mapped) {
    return std::make_unique<MappedRows>(std::move(file), layout, dtype, cols);
  }
  return std::make_unique<FileRows>(std::move(file), layout, dtype, cols);
}

Matrix read_matrix(const std::string& path, const FileOptions& options, const CancelToken& cancel) {
  auto [file, format, layout] = open_vectors(path, cancel);
  const auto [dtype, cols] = vectors_of(path, layout, options.bits);
  const FileRows rows(std::move(file), layout, dtype, cols);
  Matrix matrix(dtype, layout.rows, cols);
  rows.read(0, layout.rows, matrix, 0);
  return matrix;
}

IdTable read_ids(const std::string& path, const CancelToken& cancel) {
  const auto [file, format, layout] = open_vectors(path, cancel);
  if (layout.value.dtype) {
    fail(ErrorCode::invalid_argument, "{}: holds {} vectors, not ids ({} x {}); ids are in {}",
         path, to_string(layout.value), layout.rows, layout.cols, endings_for(std::nullopt));
  }
  return {layout.rows, layout.cols, read_id_values(file, layout)};
}

void write_matrix(const std::string& path, MatrixView matrix, const CancelToken& cancel) {
  const auto writer = create_rows(path, matrix.dtype(), matrix.rows(), matrix.cols(), cancel);
  writer->append(matrix);
  writer->commit();
}

void write_ids(const std::string& path, std::span<const std::int64_t> ids, std::int64_t rows,
               std::int64_t cols, const CancelToken& cancel) {
  const FileFormat& format = format_to_write(path, std::nullopt);
  const FileValue& value = stored_value(format, std::nullopt);
  check_shape(path, rows, cols, format.most_rows, format.most_cols);
  check_count(path, "ids", rows, cols, ids.size());
  check_ids(path, ids, cols, most_id(value));
  const FileLayout layout{value, rows, cols, 0, format.counted};
  OutputFile file(path, cancel);
  write_header(file, format, layout);
  write_id_values(file, ids, layout);
  file.commit();
}

std::optional<std::string> recognise_file(const std::string& path) {
  const auto what = recognise(InputFile(path));
  return what ? std::optional<std::string>(*what) : std::nullopt;
}

bool has_known_ending(const std::string& path) { return find_format(path) != nullptr; }

FileInfo file_info(const std::string& path) {
  const InputFile file(path);
  const FileFormat* const format = find_format(path);
  if (is_truth(file, format)) {
    const auto [rows, k] = read_truth_shape(file);
    return {"truth", FileInfo::Content::truth, "uint32 ids, f32 distances", rows, k, file.size()};
  }
  if (format == nullptr) {
    reject(file,
           "has {} bytes, not the size of ground truth, and its name does not say what else it is; "
           "known endings: {}",
           file.size(), known_formats());
  }
  const FileLayout layout = open_vectors(path).layout;
  return {std::string(format->ending),
          layout.value.dtype ? FileInfo::Content::vectors : FileInfo::Content::ids,
          to_string(layout.value),
          layout.rows,
          layout.cols,
          file.size()};
}

}  // namespace nearfield
