// Numbers of bytes as people write them.
#pragma once

#include <cstdint>
#include <string_view>

namespace nearfield::cli {

// "1048576", "512M", "1.5GiB": K, M, G and T, alone or with B or iB, are powers of 1024, in any
// case. Part of a byte is dropped. Throws an Error that names the text.
std::int64_t parse_bytes(std::string_view text);

}  // namespace nearfield::cli
