#include "search/check_rows.hpp"

#include "core/checked.hpp"
#include "core/decode.hpp"
#include "search/engine.hpp"

namespace nearfield {
namespace {

void check_columns(const RowSource& queries, const RowSource& base) {
  // An empty matrix often has lost its width: no descriptors are (0, 0) in most libraries.
  const bool empty =
      (queries.rows() == 0 && queries.cols() == 0) || (base.rows() == 0 && base.cols() == 0);
  if (queries.cols() != base.cols() && !empty) {
    fail(ErrorCode::invalid_argument, "queries have {} columns, the base has {}", queries.cols(),
         base.cols());
  }
}

void check_types(const RowSource& queries, const RowSource& base, MetricSpec metric) {
  for (const RowSource* rows : {&queries, &base}) {
    const bool bits = rows->dtype() == DType::bits;
    if (info(metric).input == MetricInput::bits && !bits) {
      fail(ErrorCode::invalid_argument,
           "{} compares packed bits, got {}: say how many bits a row has, by MatrixView::bits, in "
           "Python by nearfield.bits or open_rows(path, bits=), on the command line by --bits",
           to_string(metric), to_string(rows->dtype()));
    }
    if (info(metric).input == MetricInput::numbers && bits) {
      fail(ErrorCode::invalid_argument, "{} compares numbers, got packed bits", to_string(metric));
    }
  }
  if (!holds(queries.dtype(), base.dtype()) && !holds(base.dtype(), queries.dtype())) {
    fail(ErrorCode::invalid_argument,
         "queries are {}, the base is {}, and neither holds every value of the other: convert one",
         to_string(queries.dtype()), to_string(base.dtype()));
  }
}

void check_filter(const RowFilter& filter, std::int64_t rows) {
  if (filter.kind() == RowFilter::Kind::bitset) {
    const std::int64_t needed = divide_up(rows, 64);
    const auto given = static_cast<std::int64_t>(filter.words().size());
    if (given < needed) {
      fail(ErrorCode::invalid_argument, "a bitset over {} rows has {} words of 64 bits, got {}",
           rows, needed, given);
    }
  }
  for (const std::int64_t id : filter.ids()) {
    if (id < 0 || id >= rows) {
      fail(ErrorCode::invalid_argument, "the filter names row {}, the base has {} rows", id, rows);
    }
  }
}

}  // namespace

void check_matrices(const RowSource& queries, const RowSource& base, MetricSpec metric) {
  check_metric(metric);
  check_columns(queries, base);
  check_types(queries, base, metric);
}

void check_arguments(const SearchInput& input) {
  check_matrices(input.queries, input.base, input.metric);
  check_filter(input.filter, input.base.rows());
  if (input.meets != Meets::every_row && input.queries.rows() != input.base.rows()) {
    fail(ErrorCode::invalid_argument,
         "exclude_self takes query i for row i, but there are {} queries and {} rows",
         input.queries.rows(), input.base.rows());
  }
}

void check_k(std::int64_t k) {
  if (k < 0 || k > kMaxRows) {
    fail(ErrorCode::invalid_argument, "k is 0 to {}, got {}", kMaxRows, k);
  }
}

void check_ids(std::span<const std::int64_t> ids, std::int64_t rows) {
  if (!ids.empty() && std::ssize(ids) != rows) {
    fail(ErrorCode::invalid_argument, "`ids` has an entry for each of {} rows, got {}", rows,
         ids.size());
  }
}

void fail_unused_bits(std::int64_t row, std::string_view what, std::int64_t cols) {
  fail(ErrorCode::invalid_argument,
       "row {} of the {} has bits set beyond its {}: clear them, or pack with the least "
       "significant bit first (numpy: bitorder=\"little\")",
       row, what, cols);
}

void check_rows(MatrixView rows, std::int64_t first, std::string_view what, bool check_finite) {
  if (rows.dtype() == DType::bits && rows.cols() % 8 != 0) {
    const std::int64_t last = row_bytes(DType::bits, rows.cols()) - 1;
    for (std::int64_t i = 0; i < rows.rows(); ++i) {
      if (std::to_integer<int>(rows.row(i)[last]) >> (rows.cols() % 8) != 0) {
        fail_unused_bits(first + i, what, rows.cols());
      }
    }
  }
  if (!check_finite) return;
  for (std::int64_t i = 0; i < rows.rows(); ++i) {
    if (!row_is_finite(rows.dtype(), rows.row(i), rows.cols())) {
      fail(ErrorCode::not_finite, "row {} of the {} has a NaN or an infinity", first + i, what);
    }
  }
}

}  // namespace nearfield
