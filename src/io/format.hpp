// A format of vector files: how a file says what it holds. Reading and writing the values is the
// same for all of them. A new format is a file of this folder and a line of formats.def.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nearfield/matrix.hpp>
#include <nearfield/output_file.hpp>

#include "io/file.hpp"

namespace nearfield {

static_assert(std::endian::native == std::endian::little,
              "vector files are read and written without swapping bytes");

// What one value of a file is.
struct FileValue {
  std::optional<DType> dtype;  // empty: an id, a signed integer
  std::int64_t bytes;
};

inline constexpr FileValue kF64{DType::f64, 8};
inline constexpr FileValue kF32{DType::f32, 4};
inline constexpr FileValue kF16{DType::f16, 2};
inline constexpr FileValue kU8{DType::u8, 1};
inline constexpr FileValue kI8{DType::i8, 1};
inline constexpr FileValue kIds32{std::nullopt, 4};
inline constexpr FileValue kIds64{std::nullopt, 8};

// "f32", "int32 ids"
std::string to_string(const FileValue& value);

// Where the values of a file are: in `rows` rows, one after the other, from `offset` on.
struct FileLayout {
  FileValue value;
  std::int64_t rows;
  std::int64_t cols;  // of packed bits: bytes
  std::int64_t offset;
  bool counted = false;  // each row begins with its number of values, an int32
};

// Bytes from the beginning of a row to that of the next.
std::int64_t record_bytes(const FileLayout& layout);

// Bytes of a whole file whose rows are not counted; empty if no file can be that large.
std::optional<std::int64_t> file_bytes(const FileLayout& layout);

inline constexpr std::int64_t kCountBytes = 4;
inline constexpr std::int64_t kAnyCount = std::numeric_limits<std::int64_t>::max();

struct FileFormat {
  std::string_view ending;            // of the name: ".fbin"
  std::span<const FileValue> values;  // what it holds; the first that fits is written
  std::int64_t most_rows = kAnyCount;
  std::int64_t most_cols = kAnyCount;
  bool counted = false;  // as in FileLayout
  bool mapped = false;   // a search sees the file itself, not pieces of it

  // Throws unless the file's size is, to the byte, what the file says it holds: a layout may be
  // allocated and read.
  FileLayout (*read_layout)(const InputFile& file, const FileFormat& format);

  // What stands before the first row.
  std::string (*header)(const FileLayout& layout);
};

// Writes what stands before the first row.
void write_header(OutputFile& file, const FileFormat& format, const FileLayout& layout);

// The format that the ending of the path names, if any.
const FileFormat* find_format(const std::string& path);

// The same; throws with the list of endings.
const FileFormat& format_of(const std::string& path);

// The format to write such values in (ids, if no type is given): the one of the ending, or for a
// stream the first there is. Throws, with the endings that are right, if it does not hold them.
const FileFormat& format_to_write(const std::string& path, std::optional<DType> dtype);

// The value of the format that such a matrix (or ids) is stored as. Bits are stored as bytes.
const FileValue& stored_value(const FileFormat& format, std::optional<DType> dtype);

// ".fbin, .fvecs or .npy": the formats that hold the type, or ids.
std::string endings_for(std::optional<DType> dtype);

// All formats: ".fbin (f32), .f16bin (f16), ..."
std::string known_formats();

}  // namespace nearfield
