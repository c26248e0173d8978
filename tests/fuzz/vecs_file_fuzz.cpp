// Any bytes as a .fvecs or one of its kind: rows or ids, or an Error.
#include <array>
#include <cstddef>
#include <cstdint>

#include "fuzz_files.hpp"

namespace {

constexpr std::array kEndings{".fvecs", ".bvecs", ".ivecs"};
constexpr std::array<std::int64_t, 4> kBits{0, 0, 12, 64};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return nearfield::fuzz::read_as(kEndings, kBits, data, size);
}
