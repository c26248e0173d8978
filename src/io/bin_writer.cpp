#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include <nearfield/files.hpp>
#include <nearfield/results.hpp>

#include "core/checked.hpp"
#include "core/fail.hpp"
#include "io/bin_file.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kMostCount = std::numeric_limits<std::uint32_t>::max();
constexpr std::int64_t kMostId = std::numeric_limits<std::int32_t>::max();
constexpr std::size_t kIdsPerWrite = 4096;

// A stream has no ending to be wrong.
void check_ending(const std::string& path, const BinFormat& format, std::string_view what) {
  if (!path.ends_with(format.ending) && !is_stream(path)) {
    fail(ErrorCode::invalid_argument, "{}: {} are written as {}, and the name must end so", path,
         what, format.ending);
  }
}

// What the reader would refuse is not written.
void check_shape(const std::string& path, std::int64_t rows, std::int64_t cols) {
  if (rows < 0 || cols < 0 || rows > kMostCount || cols > kMostCount) {
    fail(ErrorCode::invalid_argument,
         "{}: {} rows x {} columns do not fit its header, each must be between 0 and {}", path,
         rows, cols, kMostCount);
  }
  if (rows > 0 && cols == 0) {
    fail(ErrorCode::invalid_argument,
         "{}: {} rows of 0 columns; only a file of 0 rows may have no columns", path, rows);
  }
}

void check_ids(const std::string& path, std::span<const std::int64_t> ids, std::int64_t cols) {
  const auto wrong =
      std::ranges::find_if(ids, [](std::int64_t id) { return id < kNoId || id > kMostId; });
  if (wrong != ids.end()) {
    const std::int64_t position = wrong - ids.begin();
    fail(ErrorCode::invalid_argument,
         "{}: id {} in row {}, column {} does not fit int32: ids are between {} and {}", path,
         *wrong, position / cols, position % cols, kNoId, kMostId);
  }
}

void write_header(OutputFile& file, std::int64_t rows, std::int64_t cols) {
  const std::array counts{static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(cols)};
  file.write(std::as_bytes(std::span(counts)));
}

void write_rows(OutputFile& file, MatrixView matrix, std::int64_t bytes) {
  if (matrix.stride_bytes() == bytes) {
    file.write({matrix.row(0), static_cast<std::size_t>(matrix.rows() * bytes)});
    return;
  }
  for (std::int64_t i = 0; i < matrix.rows(); ++i) {
    file.write({matrix.row(i), static_cast<std::size_t>(bytes)});
  }
}

}  // namespace

void write_matrix(const std::string& path, MatrixView matrix) {
  const BinFormat& format = bin_format_for(matrix.dtype(), path);
  check_ending(path, format, to_string(matrix.dtype()));
  const std::int64_t bytes = row_bytes(matrix.dtype(), matrix.cols());
  const std::int64_t cols = bytes / format.value_bytes;  // of bits: bytes
  check_shape(path, matrix.rows(), cols);
  OutputFile file(path);
  write_header(file, matrix.rows(), cols);
  write_rows(file, matrix, bytes);
  file.commit();
}

void write_ids(const std::string& path, std::span<const std::int64_t> ids, std::int64_t rows,
               std::int64_t cols) {
  check_ending(path, bin_format_for_ids(), "ids");
  check_shape(path, rows, cols);
  const auto count = static_cast<std::int64_t>(ids.size());
  if (checked_mul(rows, cols, path) != count) {
    fail(ErrorCode::invalid_argument, "{}: {} rows x {} columns need {} ids, got {}", path, rows,
         cols, rows * cols, count);
  }
  check_ids(path, ids, cols);
  OutputFile file(path);
  write_header(file, rows, cols);
  std::array<std::int32_t, kIdsPerWrite> piece{};
  while (!ids.empty()) {
    const auto part = ids.first(std::min(ids.size(), kIdsPerWrite));
    std::ranges::transform(part, piece.begin(),
                           [](std::int64_t id) { return static_cast<std::int32_t>(id); });
    file.write(std::as_bytes(std::span(piece).first(part.size())));
    ids = ids.subspan(part.size());
  }
  file.commit();
}

}  // namespace nearfield
