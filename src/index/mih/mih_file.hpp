// The tables of multi-index hashing as tensors of an index file.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "index/family_data.hpp"
#include "index/mih/mih_tables.hpp"

namespace nearfield {

// One run of all rows of a file; null if it has no tables. Looks at the file, of which only the
// positions of bits are checked here.
std::shared_ptr<const MihTables> open_mih_tables(const TensorFile& file, const IndexSpec& spec,
                                                 std::int64_t rows);

// Throws corrupt_file where they are not what the rows make them.
void verify_mih_tables(const MihTables& tables, MatrixView rows, const std::string& path,
                       const Monitor& monitor);

// Tables are made one at a time, each time they are given: what saving takes is that of one. Null
// if there are too few rows. Parts and monitor must outlive it.
std::unique_ptr<FamilyTensors> mih_tensors(std::span<const PartView> parts,
                                           const MihParameters& parameters, int threads,
                                           const Monitor& monitor);
std::int64_t bytes_to_write_mih(std::int64_t rows, int threads);

}  // namespace nearfield
