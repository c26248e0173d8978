// big-ann's ground truth: uint32 rows, uint32 k, all ids (uint32), then all distances (float32).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nearfield/files.hpp>
#include <nearfield/output_file.hpp>
#include <nearfield/results.hpp>

#include "core/fail.hpp"
#include "io/file.hpp"
#include "io/format.hpp"
#include "io/id_values.hpp"
#include "io/pair_header.hpp"
#include "io/recognise.hpp"
#include "io/shape.hpp"
#include "io/truth_file.hpp"

namespace nearfield {
namespace {

// An id and its distance together take the bytes of one such value.
constexpr FileValue kIdAndDistance = kIds64;

constexpr std::string_view kFields = "uint32 rows, uint32 k";

// No row of at most 2^32 - 1 has the largest uint32 as its id: it is -1, where there is no row.
constexpr std::int64_t kMostId = kMostInPair - 1;

std::optional<std::int64_t> truth_bytes(const PairHeader& shape) {
  return file_bytes({kIdAndDistance, shape.first, shape.second, kPairHeaderBytes});
}

// Rising or falling, as similarities do, and no bits of integers, which are subnormal numbers.
bool are_sorted_distances(std::span<const float> row) {
  const bool normal = std::ranges::all_of(
      row, [](float value) { return value == 0 || std::isinf(value) || std::isnormal(value); });
  return normal && (std::ranges::is_sorted(row) || std::ranges::is_sorted(row, std::greater()));
}

bool are_different(std::vector<std::uint32_t> ids) {
  std::erase(ids, kMostInPair);
  std::ranges::sort(ids);
  return std::ranges::adjacent_find(ids) == ids.end();
}

std::vector<float> read_distances(const InputFile& file, std::int64_t offset, std::size_t count) {
  std::vector<float> distances;
  try {
    distances.resize(count);
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::memory_limit, "{}: no memory for its {} distances of 4 bytes", file.path(),
         count);
  }
  file.read_at(offset, std::as_writable_bytes(std::span(distances)));
  return distances;
}

}  // namespace

PairHeader read_truth_shape(const InputFile& file) {
  const PairHeader shape = read_pair_header(file, kFields);
  const auto [rows, k] = shape;
  const auto expected = truth_bytes(shape);
  if (file.size() != expected) {
    reject(file,
           "the header says {} rows x {} neighbours, an id and a distance each, {} bytes in all, "
           "but the file has {}: {}",
           rows, k, expected ? fmt::format("{}", *expected) : "more than 2^63", file.size(),
           file.size() == file_bytes({kIds32, rows, k, kPairHeaderBytes})
               ? "that is the size of an .ibin or a .fbin; read it as one"
               : "it was cut short or is no ground-truth file; copy or download it again");
  }
  if (k == 0 && rows > 0) {
    reject(file, "says it has {} rows of 0 neighbours; only a file of 0 rows may have none", rows);
  }
  return shape;
}

bool has_truth_size(const InputFile& file) {
  return file.size() >= kPairHeaderBytes &&
         file.size() == truth_bytes(read_pair_header(file, kFields));
}

bool looks_like_truth(const InputFile& file) {
  constexpr std::int64_t kMostValues = 1 << 16;
  const auto [rows, k] = read_truth_shape(file);
  const std::int64_t cols = std::min(k, kMostValues);
  const std::int64_t looked_at = std::min(rows, kMostValues / cols);
  std::vector<std::uint32_t> ids(static_cast<std::size_t>(cols));
  std::vector<float> distances(static_cast<std::size_t>(cols));
  for (std::int64_t row = 0; row < looked_at; ++row) {
    file.read_at(kPairHeaderBytes + row * k * 4, std::as_writable_bytes(std::span(ids)));
    file.read_at(kPairHeaderBytes + (rows + row) * k * 4,
                 std::as_writable_bytes(std::span(distances)));
    if (!are_sorted_distances(distances) || !are_different(ids)) return false;
  }
  return true;
}

Truth read_truth(const std::string& path, const CancelToken& cancel) {
  const InputFile file(path, cancel);
  const auto [rows, k] = read_truth_shape(file);
  const FileLayout ids{kIds32, rows, k, kPairHeaderBytes};
  Truth truth{rows, k, read_id_values(file, ids), {}};
  for (std::int64_t& id : truth.ids) {
    id = id < kNoId ? id + kMostInPair + 1 : id;  // the upper half of uint32
  }
  truth.distances = read_distances(file, *file_bytes(ids), truth.ids.size());
  return truth;
}

void write_truth(const std::string& path, std::span<const std::int64_t> ids,
                 std::span<const float> distances, std::int64_t rows, std::int64_t k,
                 const CancelToken& cancel) {
  check_shape(path, rows, k, kMostInPair, kMostInPair);
  check_count(path, "ids", rows, k, ids.size());
  check_count(path, "distances", rows, k, distances.size());
  check_ids(path, ids, k, kMostId);
  OutputFile file(path, cancel);
  const std::string header = pair_header(rows, k);
  file.write(std::as_bytes(std::span(header)));
  write_id_values(file, ids, {kIds32, rows, k, kPairHeaderBytes});
  file.write(std::as_bytes(distances));
  file.commit();
}

}  // namespace nearfield
