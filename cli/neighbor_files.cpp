#include "neighbor_files.hpp"

#include <numeric>

#include <fmt/format.h>
#include <nearfield/error.hpp>
#include <nearfield/matrix.hpp>

#include "csv.hpp"
#include "vector_files.hpp"

namespace nearfield::cli {

void check_fits(const OutputOptions& output, std::int64_t rows, std::int64_t k) {
  constexpr std::int64_t kMostRows = std::int64_t{1} << 31;  // ids are int32
  if (output.ids.given() && !output.ids.ends_in(".npy") && !output.ids.ends_in(".csv") &&
      rows > kMostRows) {
    throw Error(ErrorCode::unsupported,
                fmt::format("{}: holds ids of at most {} rows, the base has {}: write .npy or .csv",
                            output.ids.path, kMostRows, rows));
  }
  if (output.distances.given() && k > kMaxCols) {
    throw Error(ErrorCode::unsupported,
                fmt::format("{}: holds at most {} distances a query, k is {}: write .csv",
                            output.distances.path, kMaxCols, k));
  }
}

void write_neighbors(const OutputOptions& output, const Neighbors& found) {
  if (output.ids.ends_in(".csv")) {
    write_csv(output.ids.path, found);
  } else if (output.ids.given()) {
    write_id_table(output.ids.path, found.ids, found.queries, found.k);
  }
  if (output.distances.given()) {
    write_vectors(output.distances.path,
                  MatrixView(found.distances.data(), found.queries, found.k));
  }
}

std::int64_t count_of(const Neighbors& found) {
  return std::accumulate(found.counts.begin(), found.counts.end(), std::int64_t{0});
}

}  // namespace nearfield::cli
