// The vector files of big-ann and cuVS: uint32 rows, uint32 columns, then the rows, little-endian.
// The ending of the name says what a value is.
#include <array>
#include <span>
#include <string>
#include <vector>

#include "io/format.hpp"
#include "io/pair_header.hpp"
#include "io/recognise.hpp"

namespace nearfield {
namespace {

FileLayout read_bin_layout(const InputFile& file, const FileFormat& format);
std::string bin_header(const FileLayout& layout) { return pair_header(layout.rows, layout.cols); }

constexpr FileFormat bin_format(std::string_view ending, const FileValue& value) {
  return {.ending = ending,
          .values = {&value, 1},
          .most_rows = kMostInPair,
          .most_cols = kMostInPair,
          .read_layout = read_bin_layout,
          .header = bin_header};
}

constexpr std::array kBinFormats{bin_format(".fbin", kF32), bin_format(".f16bin", kF16),
                                 bin_format(".u8bin", kU8), bin_format(".i8bin", kI8),
                                 bin_format(".ibin", kIds32)};

// What most likely happened to a file whose size is not that of its header.
std::string advice(std::int64_t size, FileLayout layout, std::int64_t expected) {
  std::vector<std::string_view> endings;
  for (const FileFormat& format : kBinFormats) {
    layout.value = format.values.front();
    if (file_bytes(layout) == size) {
      endings.push_back(format.ending);
    }
  }
  if (!endings.empty()) {
    return fmt::format("that is the size of a {}: rename it if that is what it holds",
                       fmt::join(endings, " or "));
  }
  return size < expected ? "it was cut short: copy or download it again"
                         : fmt::format("{} bytes too many: write it again", size - expected);
}

void check_size(const InputFile& file, const FileFormat& format, const FileLayout& layout) {
  const auto [value, rows, cols, offset, counted] = layout;
  const std::int64_t size = file.size();
  const auto expected = file_bytes(layout);
  if (!expected) {
    reject(file,
           "the header says {} rows x {} columns of {} bytes, more than any file can hold, but the "
           "file has {} bytes: it is not a {}",
           rows, cols, value.bytes, size, format.ending);
  }
  if (size == *expected) {
    return;
  }
  if (value.bytes == 4 && size == file_bytes({kIds64, rows, cols, offset})) {
    reject(file,
           "has {} bytes, 8 for each of {} x {} values, and a {} has 4 ({} bytes): it is a big-ann "
           "ground-truth file (ids, then as many distances), read it as one; or it was written as "
           "{}, write it as {}",
           size, rows, cols, format.ending, *expected, value.dtype ? "f64" : "int64",
           value.dtype ? "f32" : "int32");
  }
  reject(file,
         "the header says {} rows x {} columns of {} bytes, {} bytes in all, but the file has {}: "
         "{}",
         rows, cols, value.bytes, *expected, size, advice(size, layout, *expected));
}

FileLayout read_bin_layout(const InputFile& file, const FileFormat& format) {
  const auto [rows, cols] = read_pair_header(file, "uint32 rows, uint32 columns");
  const FileLayout layout{format.values.front(), rows, cols, kPairHeaderBytes};
  check_size(file, format, layout);
  return layout;
}

}  // namespace

std::span<const FileFormat> bin_formats() { return kBinFormats; }

}  // namespace nearfield
