#include "io/bin_file.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "core/fail.hpp"
#include "io/recognise.hpp"

namespace nearfield {
namespace {

constexpr std::array kFormats{
    BinFormat{".fbin", DType::f32, 4},   BinFormat{".f16bin", DType::f16, 2},
    BinFormat{".u8bin", DType::u8, 1},   BinFormat{".i8bin", DType::i8, 1},
    BinFormat{".ibin", std::nullopt, 4},
};

// ".fbin (f32), .f16bin (f16), ..."
std::string known_formats() {
  std::string names;
  for (const BinFormat& format : kFormats) {
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", format.ending,
                         format.dtype ? to_string(*format.dtype) : "int32 ids");
  }
  return names;
}

// Bytes of a whole file; empty if no file can be that large.
std::optional<std::int64_t> file_bytes(const BinHeader& header, std::int64_t value_bytes) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(header.rows, header.cols, &bytes) ||
      __builtin_mul_overflow(bytes, value_bytes, &bytes) ||
      __builtin_add_overflow(bytes, kBinHeaderBytes, &bytes)) {
    return std::nullopt;
  }
  return bytes;
}

// What most likely happened to a file whose size is not that of its header.
std::string advice(std::int64_t size, const BinHeader& header, std::int64_t expected) {
  std::vector<std::string_view> endings;
  for (const BinFormat& format : kFormats) {
    if (file_bytes(header, format.value_bytes) == size) {
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

// Throws what the file is, if that can be recognised, else the message.
template <class... Args>
[[noreturn]] void reject(const InputFile& file, fmt::format_string<Args...> format,
                         Args&&... args) {
  if (const auto what = recognise(file)) {
    fail(ErrorCode::corrupt_file, "{}: has {} bytes and {}", file.path(), file.size(), *what);
  }
  fail(ErrorCode::corrupt_file, "{}: {}", file.path(),
       fmt::format(format, std::forward<Args>(args)...));
}

void check_size(const InputFile& file, const BinFormat& format, const BinHeader& header) {
  const auto [rows, cols] = header;
  const std::int64_t size = file.size();
  const auto expected = file_bytes(header, format.value_bytes);
  if (!expected) {
    reject(file,
           "the header says {} rows x {} columns of {} bytes, more than any file can hold, but the "
           "file has {} bytes: it is not a {}",
           rows, cols, format.value_bytes, size, format.ending);
  }
  if (size == *expected) {
    return;
  }
  if (format.value_bytes == 4 && size == file_bytes(header, 8)) {
    reject(file,
           "is a big-ann ground-truth file ({} x {} ids, then as many distances: {} bytes), not a "
           "{} ({} bytes): split it into an .ibin and a .fbin, each with a header",
           rows, cols, size, format.ending, *expected);
  }
  reject(file,
         "the header says {} rows x {} columns of {} bytes, {} bytes in all, but the file has {}: "
         "{}",
         rows, cols, format.value_bytes, *expected, size, advice(size, header, *expected));
}

}  // namespace

const BinFormat& bin_format_of(const std::string& path) {
  const auto found = std::ranges::find_if(
      kFormats, [&](const BinFormat& format) { return path.ends_with(format.ending); });
  if (found == kFormats.end()) {
    fail(ErrorCode::invalid_argument,
         "{}: the ending of the name says nothing about its values; known endings: {}", path,
         known_formats());
  }
  return *found;
}

const BinFormat& bin_format_for(DType dtype, const std::string& path) {
  const DType stored = dtype == DType::bits ? DType::u8 : dtype;
  const auto found = std::ranges::find_if(
      kFormats, [&](const BinFormat& format) { return format.dtype == stored; });
  if (found == kFormats.end()) {
    fail(ErrorCode::unsupported, "{}: no vector file holds {}; those there are: {}", path,
         to_string(dtype), known_formats());
  }
  return *found;
}

const BinFormat& bin_format_for_ids() { return kFormats.back(); }

BinHeader read_bin_header(const InputFile& file, const BinFormat& format) {
  if (file.size() < kBinHeaderBytes) {
    reject(file,
           "has {} bytes, fewer than the {} of a header (uint32 rows, uint32 columns): copy or "
           "download it again",
           file.size(), kBinHeaderBytes);
  }
  std::array<std::uint32_t, 2> counts{};
  file.read_at(0, std::as_writable_bytes(std::span(counts)));
  const BinHeader header{counts[0], counts[1]};
  check_size(file, format, header);
  if (header.cols == 0 && header.rows > 0) {
    reject(file, "the header says {} rows of 0 columns; only a file of 0 rows may have no columns",
           header.rows);
  }
  return header;
}

}  // namespace nearfield
