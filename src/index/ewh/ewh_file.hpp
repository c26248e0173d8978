// The tables of error-weighted hashing as tensors of an index file.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "index/ewh/ewh_tables.hpp"
#include "index/family_data.hpp"
#include "index/part.hpp"

namespace nearfield {

// One run of all rows of a file; null if it has no tables. Looks at the file, of which weights,
// threshold and positions are checked here.
std::shared_ptr<const EwhTables> open_ewh_tables(const TensorFile& file, const IndexSpec& spec,
                                                 std::int64_t rows);

// Throws corrupt_file where they are not what the rows make them.
void verify_ewh_tables(const EwhTables& tables, MatrixView rows, const std::string& path,
                       const Monitor& monitor);

// Tables are made one at a time, each time they are given: what saving takes is that of one. Null
// if there are too few rows. Parts and monitor must outlive it.
std::unique_ptr<FamilyTensors> ewh_tensors(std::span<const PartView> parts,
                                           const EwhParameters& parameters, int threads,
                                           const Monitor& monitor);
std::int64_t bytes_to_write_ewh(std::int64_t rows, std::int64_t cols,
                                const EwhParameters& parameters, int threads);

}  // namespace nearfield
