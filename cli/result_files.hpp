// Results into files, each in the format that its ending says.
#pragma once

#include <cstdint>

#include <nearfield/dedup.hpp>
#include <nearfield/matrix.hpp>
#include <nearfield/results.hpp>
#include <nearfield/select.hpp>

#include "csv.hpp"
#include "search_options.hpp"

namespace nearfield::cli {

// What a file could not hold is refused before it is computed: ids of so many rows, or so many
// distances of a query.
void check_ids_fit(const OutputPath& ids, std::int64_t rows);
void check_distances_fit(const OutputPath& distances, std::int64_t k);
void check_values_fit(const OutputPath& values, DType dtype);

// Ids of all queries in one column: without the offsets nobody knows whose they are.
void check_offsets(const OutputOptions& output);

// Keys are written into .csv only.
void write_results(const OutputOptions& output, const Neighbors& found, const KeysOf& keys = {});
void write_results(const OutputOptions& output, const Ranges& found, const KeysOf& keys = {});
void write_results(const OutputOptions& output, const Pairs& found);
// Groups as .csv, else of each row the first of its group.
void write_results(const OutputOptions& output, const DuplicateGroups& found,
                   const KeysOf& keys = {});
// Values are written in the type they were read in.
void write_results(const OutputOptions& output, const Selected& found, DType dtype);

}  // namespace nearfield::cli
