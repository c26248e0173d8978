// Ids in files: narrower than the int64 of the library, and checked where they are written.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <nearfield/output_file.hpp>

#include "io/file.hpp"
#include "io/format.hpp"

namespace nearfield {

// All of them, row after row.
std::vector<std::int64_t> read_id_values(const InputFile& file, const FileLayout& layout);

void write_id_values(OutputFile& file, std::span<const std::int64_t> ids, const FileLayout& layout);

// Throws, naming row and column, unless each is kNoId or between 0 and `most`.
void check_ids(const std::string& path, std::span<const std::int64_t> ids, std::int64_t cols,
               std::int64_t most);

}  // namespace nearfield
