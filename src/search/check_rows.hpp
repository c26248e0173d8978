// What must hold of queries and base before they are searched.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <nearfield/matrix.hpp>
#include <nearfield/metric.hpp>
#include <nearfield/rows.hpp>

namespace nearfield {

struct SearchInput;

// Shapes, types, filter: everything that can be said without reading a row.
void check_arguments(const SearchInput& input);

// Those of them that are about both matrices: columns and types.
void check_matrices(const RowSource& queries, const RowSource& base, MetricSpec metric);

// How many are asked of each query.
void check_k(std::int64_t k);

// One for each row, or none.
void check_ids(std::span<const std::int64_t> ids, std::int64_t rows);

// Unused bits are zero; with check_finite, all values are finite. `first` is the number of the
// first row, `what` names the matrix in the message.
void check_rows(MatrixView rows, std::int64_t first, std::string_view what, bool check_finite);

// The error of a row that has them.
[[noreturn]] void fail_unused_bits(std::int64_t row, std::string_view what, std::int64_t cols);

}  // namespace nearfield
