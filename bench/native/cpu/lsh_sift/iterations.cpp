#include "bench/native/cpu/lsh_sift/iterations.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <stdexcept>

#include <fmt/format.h>

#include "core/tasks.hpp"
#include "index/lsh/lsh_filter.hpp"
#include "index/lsh/lsh_places.hpp"
#include "index/lsh/lsh_tables.hpp"
#include "search/knn.hpp"
#include "search/prepared_base.hpp"
#include "search/tiled_rows.hpp"

namespace nearfield::bench {
namespace {

constexpr std::int64_t kNearestQueries = 2'000;  // asked for @1
constexpr std::int64_t kAnyQueries = 200;        // and for @10 and @100
constexpr MetricSpec kDistance = Metric::sqeuclidean;

OwnLshFunctions sign_functions(MatrixView like, int bits, std::int64_t tables, std::uint64_t seed) {
  const Context context;
  const Monitor monitor(context, 1);
  const LshParameters parameters{
      .kind = LshKind::sign, .bits = bits, .tables = tables, .seed = seed};
  return make_lsh_functions(parameters, kDistance, like, like.rows(), monitor);
}

// Queries, and neighbours of each.
class Followed {
 public:
  Followed(const SiftSet& set, std::int64_t queries, std::int64_t neighbours)
      : count_(std::min(queries, set.queries.rows())), neighbours_(neighbours) {
    std::vector<std::int64_t> rows;
    for (std::int64_t query = 0; query < count_; ++query) {
      const auto ids = set.truth.ids_of(query).first(static_cast<std::size_t>(neighbours));
      rows.insert(rows.end(), ids.begin(), ids.end());
    }
    queries_ = set.queries.view().slice(0, count_);
    rows_ = read_all(PickedRows(MatrixRows(set.base), rows));
    first_found_.assign(static_cast<std::size_t>(count_), neighbours);
  }

  void iterate(const LshFunctions& functions, std::int64_t table) {
    const Context context;
    const Monitor monitor(context, 1);
    std::vector<std::uint64_t> own(static_cast<std::size_t>(count_));
    std::vector<std::uint64_t> theirs(static_cast<std::size_t>(count_ * neighbours_));
    lsh_keys(queries_, functions, kDistance, table, usable_cores(), monitor, own.data());
    lsh_keys(rows_, functions, kDistance, table, usable_cores(), monitor, theirs.data());
    for (std::size_t query = 0; query < own.size(); ++query) {
      for (std::int64_t i = 0; i < first_found_[query]; ++i) {
        const auto at = query * static_cast<std::size_t>(neighbours_) + static_cast<std::size_t>(i);
        if (theirs[at] == own[query]) first_found_[query] = i;
      }
    }
  }

  // Queries that have found one of the first so many neighbours; if given, of some of them.
  double recall(std::int64_t among, const std::vector<bool>* of = nullptr) const {
    std::int64_t asked = 0;
    std::int64_t found = 0;
    for (std::size_t query = 0; query < first_found_.size(); ++query) {
      if (of != nullptr && !(*of)[query]) continue;
      ++asked;
      found += first_found_[query] < among ? 1 : 0;
    }
    return asked > 0 ? static_cast<double>(found) / static_cast<double>(asked) : 0;
  }

 private:
  std::int64_t count_;
  std::int64_t neighbours_;
  MatrixView queries_;
  Matrix rows_;
  std::vector<std::int64_t> first_found_;  // the nearest neighbour that was, by its rank
};

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// What shares its key with a query must be found, and nothing is nearer than the nearest.
void check_found(const SiftSet& set, const LshFunctions& functions, const std::uint64_t* keys,
                 const Neighbors& found) {
  const Context context;
  const Monitor monitor(context, 1);
  std::vector<std::uint64_t> own(static_cast<std::size_t>(set.queries.rows()));
  lsh_keys(set.queries, functions, kDistance, 0, usable_cores(), monitor, own.data());
  for (std::int64_t query = 0; query < found.queries; ++query) {
    const double nearest = set.truth.keys_of(query)[0];
    const bool shares = keys[set.truth.ids_of(query)[0]] == own[static_cast<std::size_t>(query)];
    const double first = found.keys_of(query)[0];
    if (first < nearest || (shares && first != nearest)) {
      throw std::runtime_error(fmt::format("query {} found a row at {}, and the nearest is at {}",
                                           query, first, nearest));
    }
  }
}

// Queries in the order of their keys, so that those in a tile share a bucket.
std::vector<std::int64_t> in_order_of_keys(MatrixView queries, const LshFunctions& functions) {
  const Context context;
  const Monitor monitor(context, 1);
  std::vector<std::uint64_t> keys(static_cast<std::size_t>(queries.rows()));
  lsh_keys(queries, functions, kDistance, 0, usable_cores(), monitor, keys.data());
  std::vector<std::int64_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::ranges::stable_sort(
      order, {}, [&](std::int64_t query) { return keys[static_cast<std::size_t>(query)]; });
  return order;
}

// The short list by tiles, in seconds. found: that of pairs.
double time_tiles(const SiftSet& set, const std::shared_ptr<const LshRun>& run,
                  const Neighbors& found) {
  const std::vector<std::int64_t> order = in_order_of_keys(set.queries, run->functions);
  const Matrix sorted = read_all(PickedRows(MatrixRows(set.queries), order));
  const LshFinder finder(run, 1, kDistance, set.base.dtype(), {.tiles = true});
  const Context context;
  const Monitor monitor(context, 1);
  const LshPlaces places(sorted, *run, 1, kDistance, isa_of(context), usable_cores(), monitor);
  Neighbors by_tiles;
  const double search = seconds_of([&] {
    by_tiles = knn(MatrixRows(sorted), MatrixRows(set.base), {.k = 2, .metric = kDistance}, context,
                   finder);
  });
  for (std::int64_t i = 0; i < by_tiles.queries; ++i) {
    if (!std::ranges::equal(by_tiles.ids_of(i), found.ids_of(order[static_cast<std::size_t>(i)]))) {
      throw std::runtime_error(fmt::format("query {} has other neighbours by tiles", i));
    }
  }
  return std::max(search - places.hashing_seconds() - places.lookup_seconds(), 0.0);
}

}  // namespace

RecallCurves follow_recall(const SiftSet& set, int bits, double recall, std::int64_t most) {
  Followed nearest(set, kNearestQueries, 1);
  Followed any(set, kAnyQueries, kTrueNeighbours);
  RecallCurves curves;
  OwnLshFunctions functions;
  for (std::int64_t i = 0; i < most; ++i) {
    const std::int64_t table = i % kMostLshTables;
    if (table == 0) {
      functions = sign_functions(set.base, bits, kMostLshTables,
                                 static_cast<std::uint64_t>(i / kMostLshTables));
    }
    nearest.iterate(functions.view(), table);
    any.iterate(functions.view(), table);
    const std::array<double, kPrecisions.size()> reached{
        nearest.recall(1), any.recall(10), any.recall(100), nearest.recall(1, &set.matches)};
    bool all = true;
    for (std::size_t j = 0; j < reached.size(); ++j) {
      curves[j].push_back(reached[j]);
      all = all && reached[j] >= recall;
    }
    if (all) break;
  }
  return curves;
}

std::int64_t iterations_to(const std::vector<double>& curve, double recall) {
  const auto at = std::ranges::find_if(curve, [&](double reached) { return reached >= recall; });
  return at == curve.end() ? 0 : at - curve.begin() + 1;
}

StageSeconds time_iteration(const SiftSet& set, int bits, bool sorted, std::uint64_t seed,
                            std::int64_t iterations) {
  const Context context;
  const Monitor monitor(context, 1);
  const int threads = resolve_threads(context.threads);
  const std::int64_t rows = set.base.rows();
  const OwnLshFunctions functions = sign_functions(set.base, bits, iterations, seed);
  AlignedArray<std::uint64_t> keys(rows);
  StageSeconds all;
  for (std::int64_t i = 0; i < iterations; ++i) {
    auto run = std::make_shared<LshRun>();
    run->rows = {0, rows};
    run->functions = {functions.scheme, 1, functions.view().directions_of(i),
                      functions.view().levels_of(i)};
    all.hash_rows += seconds_of(
        [&] { lsh_keys(set.base, run->functions, kDistance, 0, threads, monitor, keys.data()); });
    all.table += seconds_of([&] {
      run->own.push_back(make_lsh_table({keys.data(), static_cast<std::size_t>(rows)}, bits, sorted,
                                        threads, monitor));
      run->tables.push_back(run->own.back().view());
    });
    const LshPlaces places(set.queries, *run, 1, kDistance, isa_of(context), threads, monitor);
    all.hash_queries += places.hashing_seconds();
    all.lookup += places.lookup_seconds();
    const LshFinder finder(run, 1, kDistance, set.base.dtype(), {});
    Neighbors found;
    const double search = seconds_of([&] {
      found = knn(MatrixRows(set.queries), MatrixRows(set.base), {.k = 2, .metric = kDistance},
                  context, finder);
    });
    check_found(set, run->functions, keys.data(), found);
    all.short_list += std::max(search - places.hashing_seconds() - places.lookup_seconds(), 0.0);
    all.tiles += time_tiles(set, run, found);
  }
  const auto each = 1 / static_cast<double>(iterations);
  return {all.hash_rows * each, all.table * each,      all.hash_queries * each,
          all.lookup * each,    all.short_list * each, all.tiles * each};
}

}  // namespace nearfield::bench
