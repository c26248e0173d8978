// numpy's array files: magic, version, the length of a text, the text (npy_header.hpp), padding,
// then the values.
#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "core/checked.hpp"
#include "io/format.hpp"
#include "io/npy_header.hpp"
#include "io/recognise.hpp"

namespace nearfield {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::int64_t kVersionBytes = 8;  // the magic, a byte each for major and minor version
constexpr std::int64_t kAlignment = 64;    // of the first value, as numpy writes it

// As numpy.load: real ones have about 120 bytes, and only lists of fields need many.
constexpr std::int64_t kMostTextBytes = 10'000;

FileLayout read_npy_layout(const InputFile& file, const FileFormat& format);
std::string npy_header(const FileLayout& layout);

constexpr std::array kValues{kF64, kF32, kF16, kU8, kI8, kIds64, kIds32};
constexpr std::array<std::string_view, kValues.size()> kDescrs{"<f8", "<f4", "<f2", "|u1",
                                                               "|i1", "<i8", "<i4"};

constexpr std::array kNpyFormats{FileFormat{.ending = ".npy",
                                            .values = kValues,
                                            .mapped = true,
                                            .read_layout = read_npy_layout,
                                            .header = npy_header}};

FileValue value_of(const std::string& path, std::string_view descr) {
  const auto found = std::ranges::find(kDescrs, descr);
  if (found != kDescrs.end()) {
    return kValues[static_cast<std::size_t>(found - kDescrs.begin())];
  }
  fail(ErrorCode::unsupported,
       "{}: the descr in the header is '{}', expected one of {}: save x.astype(...) of one of them",
       path, descr, fmt::join(kDescrs, ", "));
}

struct Text {
  std::string bytes;
  std::int64_t end;  // where the values begin
};

Text read_text(const InputFile& file) {
  std::array<std::uint8_t, kVersionBytes + 4> start{};
  const auto known = std::min(file.size(), static_cast<std::int64_t>(start.size()));
  file.read_at(0, std::as_writable_bytes(std::span(start).first(static_cast<std::size_t>(known))));
  const std::int64_t compared = std::min<std::int64_t>(known, std::ssize(kMagic));
  if (!std::equal(start.begin(), start.begin() + compared, kMagic.begin(),
                  [](std::uint8_t a, char b) { return a == static_cast<std::uint8_t>(b); })) {
    reject(file, "does not begin with the {} bytes of an .npy (0x93, NUMPY): it is not one",
           kMagic.size());
  }
  const int major = start[6];
  const int minor = start[7];
  if (known >= kVersionBytes && (major < 1 || major > 3 || minor != 0)) {
    fail(ErrorCode::unsupported,
         "{}: is of .npy version {}.{}, expected 1.0, 2.0 or 3.0: save it again with numpy.save",
         file.path(), major, minor);
  }
  const std::int64_t begin = kVersionBytes + (major == 1 ? 2 : 4);
  if (file.size() < begin) {
    reject(file,
           "has {} bytes, fewer than the {} before the header's text (magic, version, length): "
           "copy or download it again",
           file.size(), begin);
  }
  std::int64_t length = 0;
  for (std::int64_t i = begin; i-- > kVersionBytes;) {
    length = length * 256 + start[static_cast<std::size_t>(i)];
  }
  if (length > kMostTextBytes) {
    fail(ErrorCode::unsupported,
         "{}: the length of the header is {} bytes, expected at most {}: save a plain array with "
         "numpy.save",
         file.path(), length, kMostTextBytes);
  }
  if (length > file.size() - begin) {
    reject(file,
           "the length of the header is {} bytes from byte {} on, but the file has {}: it was cut "
           "short; copy or download it again",
           length, begin, file.size());
  }
  Text text{std::string(static_cast<std::size_t>(length), '\0'), begin + length};
  file.read_at(begin, std::as_writable_bytes(std::span(text.bytes)));
  return text;
}

FileLayout layout_of(const std::string& path, const NpyHeader& header, std::int64_t offset) {
  const FileValue value = value_of(path, header.descr);
  if (header.fortran_order) {
    fail(ErrorCode::unsupported,
         "{}: fortran_order in the header is True, column after column, expected False: convert it "
         "with numpy.save(name, numpy.ascontiguousarray(x))",
         path);
  }
  const auto& shape = header.shape;
  if (shape.size() == 2) {
    return {value, shape[0], shape[1], offset};
  }
  if (shape.size() == 1 && !value.dtype) {
    return {value, shape[0], 1, offset};
  }
  fail(ErrorCode::unsupported,
       "{}: the shape in the header is ({}), {} dimensions, expected 2 (1 or 2 for ids): save "
       "x.reshape(rows, columns)",
       path, fmt::join(shape, ", "), shape.size());
}

FileLayout read_npy_layout(const InputFile& file, const FileFormat&) {
  const Text text = read_text(file);
  const FileLayout layout =
      layout_of(file.path(), parse_npy_header(file.path(), text.bytes), text.end);
  const auto expected = file_bytes(layout);
  if (!expected) {
    fail(ErrorCode::corrupt_file,
         "{}: the shape in the header is {} rows x {} columns of {} bytes, more than any file can "
         "hold, but the file has {} bytes: save it again with numpy.save",
         file.path(), layout.rows, layout.cols, layout.value.bytes, file.size());
  }
  if (file.size() != *expected) {
    fail(ErrorCode::corrupt_file,
         "{}: the shape in the header is {} rows x {} columns of {} bytes, {} bytes in all, but "
         "the file has {}: {}",
         file.path(), layout.rows, layout.cols, layout.value.bytes, *expected, file.size(),
         file.size() < *expected ? "it was cut short; copy or download it again"
                                 : "it holds more than one array; save each to a file of its own");
  }
  return layout;
}

// Version 1.0.
std::string npy_header(const FileLayout& layout) {
  const auto& value = layout.value;
  const auto same = [&](const FileValue& other) {
    return other.dtype == value.dtype && other.bytes == value.bytes;
  };
  const auto found = std::ranges::find_if(kValues, same) - kValues.begin();
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}, {}), }}",
                  kDescrs[static_cast<std::size_t>(found)], layout.rows, layout.cols);
  const std::int64_t begin = kVersionBytes + 2;
  const std::int64_t end = round_up(begin + std::ssize(text) + 1, kAlignment);
  text.resize(static_cast<std::size_t>(end - begin - 1), ' ');
  text.push_back('\n');
  std::string bytes(kMagic);
  for (const std::size_t number :
       {std::size_t{1}, std::size_t{0}, text.size() % 256, text.size() / 256}) {
    bytes.push_back(static_cast<char>(number));
  }
  return bytes + text;
}

}  // namespace

std::span<const FileFormat> npy_formats() { return kNpyFormats; }

}  // namespace nearfield
