#include "bench/native/cpu/lsh_sift/sift_set.hpp"

#include <nearfield/files.hpp>
#include <nearfield/knn.hpp>

#include "bench/native/cpu/descriptors.hpp"

namespace nearfield::bench {
namespace {

constexpr double kRatio = 0.8;

}  // namespace

SiftSet read_sift_set(const std::string& folder) {
  SiftSet set;
  set.base =
      folder.empty() ? made_up_descriptors(4'000, 1) : read_all(*open_rows(folder + "/base.u8bin"));
  set.queries = folder.empty() ? made_up_descriptors(200, 2)
                               : read_all(*open_rows(folder + "/queries.u8bin"));
  set.truth = knn(set.queries, set.base, {.k = kTrueNeighbours});
  set.exact_seconds = knn(set.queries, set.base, {.k = 2}).stats.seconds;
  for (std::int64_t query = 0; query < set.queries.rows(); ++query) {
    const auto keys = set.truth.keys_of(query);  // squares
    set.matches.push_back(keys[0] < kRatio * kRatio * keys[1]);
  }
  return set;
}

}  // namespace nearfield::bench
