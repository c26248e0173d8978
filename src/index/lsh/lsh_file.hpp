// The tables of locality-sensitive hashing as tensors of an index file.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <nearfield/index.hpp>

#include "index/family_data.hpp"
#include "index/lsh/lsh_tables.hpp"
#include "index/part.hpp"

namespace nearfield {

// One run of all rows of a file; null if it has no tables. Looks at the file, of which only the
// shapes are checked here.
std::shared_ptr<const LshTables> open_lsh_tables(const TensorFile& file, const IndexSpec& spec,
                                                 const LshParameters& parameters,
                                                 std::int64_t rows);

// Throws corrupt_file where they are not what the rows and the functions make them.
void verify_lsh_tables(const LshTables& tables, MatrixView rows, MetricSpec metric,
                       const std::string& path, const Monitor& monitor);

// Tables are made one at a time, each time they are given: what saving takes is that of one. Null
// if there are too few rows. Parts and monitor must outlive it.
std::unique_ptr<FamilyTensors> lsh_tensors(std::span<const PartView> parts, MetricSpec metric,
                                           const LshParameters& parameters, int threads,
                                           const Monitor& monitor);
std::int64_t bytes_to_write_lsh(std::int64_t rows, std::int64_t cols,
                                const LshParameters& parameters, int threads);

}  // namespace nearfield
