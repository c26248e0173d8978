#include "io/pair_header.hpp"

#include <array>
#include <cstring>
#include <span>

#include "io/recognise.hpp"

namespace nearfield {

PairHeader read_pair_header(const InputFile& file, std::string_view fields) {
  if (file.size() < kPairHeaderBytes) {
    reject(file, "has {} bytes, fewer than the {} of a header ({}): copy or download it again",
           file.size(), kPairHeaderBytes, fields);
  }
  std::array<std::uint32_t, 2> pair{};
  file.read_at(0, std::as_writable_bytes(std::span(pair)));
  return {pair[0], pair[1]};
}

std::string pair_header(std::int64_t first, std::int64_t second) {
  const std::array pair{static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(second)};
  std::string bytes(sizeof pair, '\0');
  std::memcpy(bytes.data(), pair.data(), sizeof pair);
  return bytes;
}

}  // namespace nearfield
