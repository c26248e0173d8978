// The vector files of big-ann and cuVS: uint32 rows, uint32 columns, then the rows, little-endian.
// The ending of the name says what a value is.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nearfield/matrix.hpp>

#include "io/file.hpp"

namespace nearfield {

static_assert(std::endian::native == std::endian::little,
              "vector files are read and written without swapping bytes");

struct BinFormat {
  std::string_view ending;
  std::optional<DType> dtype;  // empty: int32 ids
  std::int64_t value_bytes;
};

// The one that the ending of the path names; throws with the list of endings.
const BinFormat& bin_format_of(const std::string& path);

// The one a matrix of this type is written in; throws, naming the path, if there is none.
const BinFormat& bin_format_for(DType dtype, const std::string& path);

const BinFormat& bin_format_for_ids();

inline constexpr std::int64_t kBinHeaderBytes = 8;

struct BinHeader {
  std::int64_t rows;
  std::int64_t cols;
};

// Throws unless the header and the size of the file agree to the byte: what it returns may be
// allocated and read.
BinHeader read_bin_header(const InputFile& file, const BinFormat& format);

}  // namespace nearfield
