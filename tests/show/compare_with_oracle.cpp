// Compares what the command line wrote with the oracle, all queries:
//   compare_with_oracle METRIC K QUERIES BASE IDS.ibin DISTANCES.fbin
// Ids and distances bit for bit from the files; keys from a search in this process. Exits 1 on any
// mismatch.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <nearfield/nearfield.hpp>

#include "tests/oracle/compare.hpp"
#include "tests/oracle/oracle.hpp"

int main(int argc, char** argv) try {
  using namespace nearfield;
  if (argc != 7) {
    std::fprintf(stderr, "usage: compare_with_oracle METRIC K QUERIES BASE IDS DISTANCES\n");
    return 2;
  }
  KnnOptions options;
  options.metric = parse_metric(argv[1]);
  options.k = std::stoll(argv[2]);
  const Matrix queries = read_matrix(argv[3]);
  const Matrix base = read_matrix(argv[4]);
  const std::vector<std::int64_t> ids = read_ids(argv[5]).ids;
  const Matrix distances = read_matrix(argv[6]);

  const oracle::Answer want = oracle::knn(queries, base, options);
  if (ids.size() != want.ids.size() || distances.rows() != queries.rows() ||
      distances.cols() != options.k) {
    std::printf("%zu ids for %zu\n", ids.size(), want.ids.size());
    return 1;
  }
  std::size_t wrong_ids = 0;
  std::size_t wrong_distances = 0;
  const auto* written = reinterpret_cast<const float*>(distances.row(0));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    wrong_ids += ids[i] != want.ids[i];
    wrong_distances +=
        std::bit_cast<std::uint32_t>(written[i]) != std::bit_cast<std::uint32_t>(want.distances[i]);
  }
  const std::string keys = oracle::difference(knn(queries, base, options), want);
  std::printf(
      "%s %s: %lld queries x %lld rows, k %lld: %zu ids and %zu distances differ; keys: %s\n",
      argv[1], std::string(to_string(base.dtype())).c_str(), static_cast<long long>(queries.rows()),
      static_cast<long long>(base.rows()), static_cast<long long>(options.k), wrong_ids,
      wrong_distances, keys.empty() ? "0 mismatches" : keys.c_str());
  return wrong_ids + wrong_distances == 0 && keys.empty() ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "compare_with_oracle: %s\n", error.what());
  return 2;
}
