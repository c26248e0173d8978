#include "bench/native/gpu/ewh/codes.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>
#include <nearfield/files.hpp>

#include "core/random.hpp"

namespace nearfield::bench {
namespace {

constexpr std::int64_t kCodeBytes = kCodeBits / 8;

Matrix codes_of_file(const std::string& path) {
  const Matrix bytes = read_matrix(path);
  if (bytes.dtype() != DType::u8 || bytes.cols() != kCodeBytes) {
    throw std::runtime_error(fmt::format("{} has {} columns of {}: wanted are {} of u8", path,
                                         bytes.cols(), to_string(bytes.dtype()), kCodeBytes));
  }
  Matrix codes(DType::bits, bytes.rows(), kCodeBits);
  std::copy_n(bytes.row(0), bytes.bytes(), codes.row(0));
  return codes;
}

// Queries are rows with a tenth of their bits turned over.
Codes made_up_codes(std::int64_t rows, std::int64_t queries) {
  Codes codes{Matrix(DType::bits, rows, kCodeBits), Matrix(DType::bits, queries, kCodeBits)};
  Random random(1);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t word = 0; word < kCodeBits / 64; ++word) {
      const std::uint64_t value = random.next_u64();
      std::memcpy(codes.rows.row(row) + 8 * word, &value, sizeof value);
    }
  }
  for (std::int64_t query = 0; query < queries; ++query) {
    std::byte* const values = codes.queries.row(query);
    std::copy_n(codes.rows.row(random.below(rows)), kCodeBytes, values);
    for (std::int64_t i = 0; i < kCodeBits / 10; ++i) {
      const std::int64_t bit = random.below(kCodeBits);
      values[bit / 8] ^= std::byte{1} << (bit % 8);
    }
  }
  return codes;
}

}  // namespace

Codes read_codes(const std::string& folder, Size size) {
  if (!folder.empty()) {
    return {codes_of_file(folder + "/base.u8bin"), codes_of_file(folder + "/queries.u8bin")};
  }
  if (size != Size::tiny) {
    throw std::runtime_error(
        "no folder of codes was named: bench/datasets make makes one, bench/reproduce names it");
  }
  return made_up_codes(20'032, 40);
}

IndexSpec index_of_codes(const std::string& family) {
  return {.family = family, .dtype = DType::bits, .cols = kCodeBits, .metric = Metric::hamming};
}

}  // namespace nearfield::bench
