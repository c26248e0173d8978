// Checks of shapes before a file is written: what the reader would refuse is not written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace nearfield {

void check_shape(const std::string& path, std::int64_t rows, std::int64_t cols,
                 std::int64_t most_rows, std::int64_t most_cols);

// `what` names the values: "ids".
void check_count(const std::string& path, std::string_view what, std::int64_t rows,
                 std::int64_t cols, std::size_t count);

}  // namespace nearfield
