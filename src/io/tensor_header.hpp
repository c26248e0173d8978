// The JSON at the beginning of a safetensors file: which tensors it holds, and where.
//
// A file is the length of the JSON (8 bytes, little-endian), the JSON, then the tensors' bytes, one
// tensor behind the other without a gap.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace nearfield {

enum class TensorType : std::uint8_t { u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16, f32, f64 };

std::string_view to_string(TensorType type);  // as in the file: "F32"
std::int64_t bytes_of(TensorType type);

struct TensorEntry {
  std::string name;
  TensorType type = TensorType::u8;
  std::vector<std::int64_t> shape;
  // Of its bytes, counted from the first behind the header.
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// shape[0] x shape[1] x ... x the bytes of a value. Throws where that does not fit 63 bits.
std::int64_t bytes_of(TensorType type, const std::vector<std::int64_t>& shape);

struct TensorHeader {
  std::vector<TensorEntry> tensors;  // as they lie in the file
  std::map<std::string, std::string> metadata;
};

// Tensors of ours begin at multiples of this, as what is read into vector registers should; those
// of others may begin anywhere.
inline constexpr std::int64_t kTensorAlignment = 64;

// The length of the JSON, and the most of it that is read: a real one has some kilobytes.
inline constexpr std::int64_t kTensorLengthBytes = 8;
inline constexpr std::int64_t kMostHeaderBytes = 1 << 20;

// Throws corrupt_file, naming the path, unless the JSON describes exactly `data_bytes` bytes of
// tensors: no gap, no overlap, no name twice, each as large as its shape. unsupported for a type of
// value that is not in TensorType.
TensorHeader parse_tensor_header(const std::string& path, std::string_view json,
                                 std::int64_t data_bytes);

// With the length before it. Padded with blanks, so that tensors begin at a multiple of 64.
std::string format_tensor_header(const TensorHeader& header);

}  // namespace nearfield
