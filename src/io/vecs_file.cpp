// The vector files of TEXMEX: for each vector an int32, its number of values, and then the values,
// little-endian. There is no header: files of one width can be joined with cat.
#include <array>
#include <limits>
#include <span>
#include <string>

#include "io/format.hpp"
#include "io/recognise.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kMostCols = std::numeric_limits<std::int32_t>::max();

FileLayout read_vecs_layout(const InputFile& file, const FileFormat& format);
std::string no_header(const FileLayout&) { return {}; }

constexpr FileFormat vecs_format(std::string_view ending, const FileValue& value) {
  return {.ending = ending,
          .values = {&value, 1},
          .most_cols = kMostCols,
          .counted = true,
          .read_layout = read_vecs_layout,
          .header = no_header};
}

constexpr std::array kVecsFormats{vecs_format(".fvecs", kF32), vecs_format(".bvecs", kU8),
                                  vecs_format(".ivecs", kIds32)};

// The other rows' counts are checked where they are read.
FileLayout read_vecs_layout(const InputFile& file, const FileFormat& format) {
  FileLayout layout{format.values.front(), 0, 0, 0, true};
  const std::int64_t size = file.size();
  if (size == 0) {
    return layout;
  }
  if (size < kCountBytes) {
    reject(file,
           "has {} bytes, fewer than the {} of the first row's number of values (int32): copy or "
           "download it again",
           size, kCountBytes);
  }
  std::int32_t count = 0;
  file.read_at(0, std::as_writable_bytes(std::span(&count, 1)));
  if (count < 1) {
    reject(file, "row 0 says it has {} values, expected 1 to {}: it is not a {}", count, kMostCols,
           format.ending);
  }
  layout.cols = count;
  const std::int64_t record = record_bytes(layout);
  layout.rows = size / record;
  if (size % record != 0) {
    reject(file,
           "row 0 says it has {} values of {} bytes, so each row takes {} bytes, but the file has "
           "{}, which is {} rows and {} bytes: it was cut short or is not a {}; copy or download "
           "it again",
           count, layout.value.bytes, record, size, layout.rows, size % record, format.ending);
  }
  return layout;
}

}  // namespace

std::span<const FileFormat> vecs_formats() { return kVecsFormats; }

}  // namespace nearfield
