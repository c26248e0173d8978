// Any bytes as a .fbin or one of its kind: rows or ids, or an Error.
#include <array>
#include <cstddef>
#include <cstdint>

#include "fuzz_files.hpp"

namespace {

constexpr std::array kEndings{".fbin", ".f16bin", ".u8bin", ".i8bin", ".ibin", ".other"};
constexpr std::array<std::int64_t, 8> kBits{0, 0, 0, 1, 8, 12, 64, -1};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return nearfield::fuzz::read_as(kEndings, kBits, data, size);
}
