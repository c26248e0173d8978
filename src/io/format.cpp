#include "io/format.hpp"

#include <algorithm>
#include <iterator>

#include "core/fail.hpp"

namespace nearfield {

#define NEARFIELD_FORMATS(name) std::span<const FileFormat> name##_formats();
#include "io/formats.def"
#undef NEARFIELD_FORMATS

namespace {

const std::vector<FileFormat>& all_formats() {
  static const std::vector<FileFormat> formats = [] {
    std::vector<FileFormat> all;
    const auto add = [&](std::span<const FileFormat> some) {
      all.insert(all.end(), some.begin(), some.end());
    };
#define NEARFIELD_FORMATS(name) add(name##_formats());
#include "io/formats.def"
#undef NEARFIELD_FORMATS
    return all;
  }();
  return formats;
}

const FileValue* find_value(const FileFormat& format, std::optional<DType> dtype) {
  const auto stored = dtype == DType::bits ? DType::u8 : dtype;
  const auto found = std::ranges::find(format.values, stored, &FileValue::dtype);
  return found == format.values.end() ? nullptr : &*found;
}

}  // namespace

std::string to_string(const FileValue& value) {
  return value.dtype ? std::string(to_string(*value.dtype))
                     : fmt::format("int{} ids", 8 * value.bytes);
}

std::int64_t record_bytes(const FileLayout& layout) {
  return (layout.counted ? kCountBytes : 0) + layout.cols * layout.value.bytes;
}

std::optional<std::int64_t> file_bytes(const FileLayout& layout) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(layout.rows, layout.cols, &bytes) ||
      __builtin_mul_overflow(bytes, layout.value.bytes, &bytes) ||
      __builtin_add_overflow(bytes, layout.offset, &bytes)) {
    return std::nullopt;
  }
  return bytes;
}

void write_header(OutputFile& file, const FileFormat& format, const FileLayout& layout) {
  const std::string header = format.header(layout);
  file.write(std::as_bytes(std::span(header)));
}

const FileFormat* find_format(const std::string& path) {
  const auto found = std::ranges::find_if(
      all_formats(), [&](const FileFormat& format) { return path.ends_with(format.ending); });
  return found == all_formats().end() ? nullptr : &*found;
}

const FileFormat& format_of(const std::string& path) {
  const FileFormat* const found = find_format(path);
  if (found == nullptr) {
    fail(ErrorCode::invalid_argument,
         "{}: the ending of the name says nothing about its values; known endings: {}", path,
         known_formats());
  }
  return *found;
}

const FileFormat& format_to_write(const std::string& path, std::optional<DType> dtype) {
  const bool any_ending = is_stream(path);
  const auto found = std::ranges::find_if(all_formats(), [&](const FileFormat& format) {
    return find_value(format, dtype) != nullptr && (any_ending || path.ends_with(format.ending));
  });
  if (found != all_formats().end()) {
    return *found;
  }
  const std::string what(dtype ? to_string(*dtype) : "ids");
  const std::string endings = endings_for(dtype);
  if (endings.empty()) {
    fail(ErrorCode::unsupported, "{}: no vector file holds {}; those there are: {}", path, what,
         known_formats());
  }
  fail(ErrorCode::invalid_argument, "{}: {} are written as {}, and the name must end so", path,
       what, endings);
}

const FileValue& stored_value(const FileFormat& format, std::optional<DType> dtype) {
  return *find_value(format, dtype);
}

std::string endings_for(std::optional<DType> dtype) {
  std::vector<std::string_view> endings;
  for (const FileFormat& format : all_formats()) {
    if (find_value(format, dtype) != nullptr) {
      endings.push_back(format.ending);
    }
  }
  return fmt::format("{}", fmt::join(endings, " or "));
}

std::string known_formats() {
  std::string names;
  for (const FileFormat& format : all_formats()) {
    std::vector<std::string> values;
    std::ranges::transform(format.values, std::back_inserter(values),
                           [](const FileValue& value) { return to_string(value); });
    names +=
        fmt::format("{}{} ({})", names.empty() ? "" : ", ", format.ending, fmt::join(values, ", "));
  }
  return names;
}

}  // namespace nearfield
