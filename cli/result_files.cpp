#include "result_files.hpp"

#include <cstddef>
#include <vector>

#include <fmt/format.h>
#include <nearfield/error.hpp>
#include <nearfield/matrix.hpp>

#include "vector_files.hpp"

namespace nearfield::cli {
namespace {

void write_distances(const OutputPath& output, const std::vector<float>& distances,
                     std::int64_t rows, std::int64_t cols) {
  if (output.given()) {
    write_vectors(output.path, MatrixView(distances.data(), rows, cols));
  }
}

// The search kept more bytes than this for each pair until it ended: the memory limit still holds.
std::vector<std::int64_t> two_columns(const Pairs& found) {
  std::vector<std::int64_t> table;
  table.reserve(2 * found.first.size());
  for (std::size_t i = 0; i < found.first.size(); ++i) {
    table.push_back(found.first[i]);
    table.push_back(found.second[i]);
  }
  return table;
}

}  // namespace

void check_ids_fit(const OutputPath& ids, std::int64_t rows) {
  constexpr std::int64_t kMostRows = std::int64_t{1} << 31;  // int32, but for these two
  const bool any_id = ids.ends_in(".npy") || ids.ends_in(".csv");
  if (ids.given() && !any_id && rows > kMostRows) {
    throw Error(ErrorCode::unsupported,
                fmt::format("{}: holds ids of at most {} rows, but {} are searched: write .npy or "
                            ".csv",
                            ids.path, kMostRows, rows));
  }
}

void check_distances_fit(const OutputPath& distances, std::int64_t k) {
  if (distances.given() && k > kMaxCols) {
    throw Error(ErrorCode::unsupported,
                fmt::format("{}: holds at most {} distances a query, but k is {}: write --output "
                            "as .csv",
                            distances.path, kMaxCols, k));
  }
}

void check_values_fit(const OutputPath& values, DType dtype) {
  const bool holds_f64 = values.ends_in(".npy") || is_hdf5(values.path);
  if (values.given() && dtype == DType::f64 && !holds_f64) {
    throw Error(
        ErrorCode::unsupported,
        fmt::format("{}: holds float32, but the values are float64: write .npy", values.path));
  }
}

void check_offsets(const OutputOptions& output) {
  const bool column =
      output.distances.given() || (output.ids.given() && !output.ids.ends_in(".csv"));
  if (column && !output.offsets.given()) {
    throw CLI::RequiredError(
        "--offsets, which says where each query begins (or --output as a .csv, which needs none)");
  }
}

void write_results(const OutputOptions& output, const Neighbors& found, const KeysOf& keys) {
  if (output.ids.ends_in(".csv")) {
    write_csv(output.ids.path, found, keys);
  } else if (output.ids.given()) {
    write_id_table(output.ids.path, found.ids, found.queries, found.k);
  }
  write_distances(output.distances, found.distances, found.queries, found.k);
}

void write_results(const OutputOptions& output, const Ranges& found, const KeysOf& keys) {
  const auto rows = static_cast<std::int64_t>(found.ids.size());
  if (output.ids.ends_in(".csv")) {
    write_csv(output.ids.path, found, keys);
  } else if (output.ids.given()) {
    write_id_table(output.ids.path, found.ids, rows, 1);
  }
  write_distances(output.distances, found.distances, rows, 1);
  if (output.offsets.given()) {
    write_id_table(output.offsets.path, found.offsets,
                   static_cast<std::int64_t>(found.offsets.size()), 1);
  }
}

void write_results(const OutputOptions& output, const Selected& found, DType dtype) {
  if (output.ids.ends_in(".csv")) {
    write_csv(output.ids.path, found, dtype);
  } else if (output.ids.given()) {
    write_id_table(output.ids.path, found.ids, found.rows, found.k);
  }
  if (dtype == DType::f32) {
    const std::vector<float> values(found.values.begin(), found.values.end());  // exact
    write_distances(output.distances, values, found.rows, found.k);
  } else if (output.distances.given()) {
    write_vectors(output.distances.path, MatrixView(found.values.data(), found.rows, found.k));
  }
}

void write_results(const OutputOptions& output, const DuplicateGroups& found, const KeysOf& keys) {
  if (output.ids.ends_in(".csv")) {
    write_csv(output.ids.path, found, keys);
  } else if (output.ids.given()) {
    write_id_table(output.ids.path, found.first_of, std::ssize(found.first_of), 1);
  }
}

void write_results(const OutputOptions& output, const Pairs& found) {
  const auto rows = static_cast<std::int64_t>(found.first.size());
  if (output.ids.ends_in(".csv")) {
    write_csv(output.ids.path, found);
  } else if (output.ids.given()) {
    write_id_table(output.ids.path, two_columns(found), rows, 2);
  }
  write_distances(output.distances, found.distances, rows, 1);
}

}  // namespace nearfield::cli
