#include "bench/native/cpu/lsh_sift/sift_set.hpp"

#include <algorithm>

#include <nearfield/files.hpp>
#include <nearfield/knn.hpp>

#include "core/random.hpp"

namespace nearfield::bench {
namespace {

constexpr double kRatio = 0.8;

// Of clusters, so that there is something to be found.
Matrix made_up(std::int64_t rows, std::uint64_t seed) {
  constexpr std::int64_t kCols = 128;
  Matrix matrix(DType::u8, rows, kCols);
  Random random(seed);
  for (std::int64_t i = 0; i < rows; ++i) {
    Random centre(7, static_cast<std::uint64_t>(random.below(200)));
    for (std::int64_t j = 0; j < kCols; ++j) {
      const double value = static_cast<double>(centre.below(160)) + 10 * random.normal();
      matrix.row(i)[j] = static_cast<std::byte>(std::clamp(value, 0.0, 255.0));
    }
  }
  return matrix;
}

}  // namespace

SiftSet read_sift_set(const std::string& folder) {
  SiftSet set;
  set.base = folder.empty() ? made_up(4'000, 1) : read_all(*open_rows(folder + "/base.u8bin"));
  set.queries = folder.empty() ? made_up(200, 2) : read_all(*open_rows(folder + "/queries.u8bin"));
  set.truth = knn(set.queries, set.base, {.k = kTrueNeighbours});
  set.exact_seconds = knn(set.queries, set.base, {.k = 2}).stats.seconds;
  for (std::int64_t query = 0; query < set.queries.rows(); ++query) {
    const auto keys = set.truth.keys_of(query);  // squares
    set.matches.push_back(keys[0] < kRatio * kRatio * keys[1]);
  }
  return set;
}

}  // namespace nearfield::bench
