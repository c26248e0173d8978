// The names in an index file, and how its types are called there. docs/indexes.md describes it.
#pragma once

#include <cstdint>
#include <string_view>

#include <nearfield/index.hpp>

#include "io/tensor_header.hpp"

namespace nearfield::index_format {

inline constexpr std::string_view kName = "nearfield index";
inline constexpr std::string_view kObjectsName = "nearfield metric index";  // pivot/metric_file.cpp
inline constexpr std::int64_t kVersion = 1;

// In the metadata.
inline constexpr const char* kFormat = "format";
inline constexpr const char* kFormatVersion = "format_version";
inline constexpr const char* kFeatures = "features";  // that a reader must know
inline constexpr const char* kFamily = "family";
inline constexpr const char* kFamilyVersion = "family_version";
inline constexpr const char* kMetric = "metric";
inline constexpr const char* kDType = "dtype";
inline constexpr const char* kCols = "cols";
inline constexpr const char* kKeys = "keys";  // "1" or "0"
inline constexpr const char* kNextId = "next_id";
inline constexpr const char* kRowCount = "rows";  // where no ids are there to be counted
inline constexpr const char* kStep = "packed.step";
inline constexpr const char* kRotated = "packed.rotated";  // "1" or "0"

// Features: one of these, or none.
inline constexpr const char* kPackedRows = "packed_rows";  // there are no rows beside packed.values
inline constexpr const char* kCodedRows = "coded_rows";    // nor beside the codes of the family
// The same, and no ids either: they are the numbers of rows.
inline constexpr const char* kNumberedCodes = "coded_rows,numbered_ids";

// Tensors.
inline constexpr const char* kRows = "rows";
inline constexpr const char* kIds = "ids";
inline constexpr const char* kIdTable = "id_table";
// Of an index with keys.
inline constexpr const char* kKeyOffsets = "keys.offsets";
inline constexpr const char* kKeyBytes = "keys.bytes";
inline constexpr const char* kKeyTable = "keys.table";
inline constexpr const char* kNotFinite = "not_finite";  // of types that have such values
// Of an index whose metric has tiles.
inline constexpr const char* kValues = "packed.values";
inline constexpr const char* kBias = "packed.bias";
inline constexpr const char* kTerms = "packed.terms";
inline constexpr const char* kOdd = "packed.odd";
inline constexpr const char* kCentre = "packed.centre";

// Of the rows.
TensorType tensor_type(DType dtype);

// Of a row as a tensor has it: bits are bytes there.
std::int64_t tensor_cols(const IndexSpec& spec);

}  // namespace nearfield::index_format
