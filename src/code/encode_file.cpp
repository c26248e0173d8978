#include <string>

#include "code/encode_blocks.hpp"
#include "core/fail.hpp"
#include "io/growing_file.hpp"
#include "io/pair_header.hpp"

namespace nearfield {

std::int64_t encode_file(const Quantizer& quantizer, const RowSource& rows, const std::string& path,
                         const Context& context) {
  check_encoding(quantizer, rows, context);
  if (rows.rows() > kMostInPair) {
    fail(ErrorCode::unsupported, "{}: a .u8bin file holds at most {} rows, and these are {}", path,
         kMostInPair, rows.rows());
  }
  const std::int64_t code_bytes = quantizer.code_bytes();
  const std::string header = pair_header(rows.rows(), code_bytes);
  GrowingFile file(path, header, kBlockOfRows * code_bytes,
                   encoding_identity(quantizer, rows, std::ssize(header), code_bytes));
  const auto bytes_of = [&](MatrixView codes) {
    return std::span(codes.row(0), static_cast<std::size_t>(codes.rows() * code_bytes));
  };
  const std::int64_t resumed = encode_blocks(quantizer, rows, file, bytes_of, 0, context);
  file.commit();
  return resumed;
}

}  // namespace nearfield
