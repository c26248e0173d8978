#include <algorithm>
#include <limits>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <nearfield/eval.hpp>
#include <nearfield/knn.hpp>
#include <nearfield/results.hpp>

#include "core/checked.hpp"
#include "core/decode.hpp"
#include "core/fail.hpp"
#include "core/monitor.hpp"
#include "device/device_name.hpp"
#include "eval/estimate.hpp"

namespace nearfield {
namespace {

std::span<const std::int64_t> row_of(const IdTable& table, std::int64_t row) {
  const auto cols = static_cast<std::size_t>(table.cols);
  return std::span(table.ids).subspan(static_cast<std::size_t>(row) * cols, cols);
}

// One query: what it found, what is true, and how near that is, as far as it is known.
struct Query {
  std::span<const std::int64_t> found;
  std::vector<std::int64_t> truth;                      // nearest first
  std::unordered_map<std::int64_t, std::size_t> place;  // of an id in `truth`
  bool truth_ends = false;                              // no row is true but those

  std::vector<double> distances;                      // of `truth`, or empty
  std::unordered_map<std::int64_t, double> computed;  // keys of all found, or empty
};

enum class Verdict { wrong, unknown, right, better_than_truth };

// Of a found row, whether it is one of the k nearest or as near.
Verdict verdict(const Query& query, std::int64_t id, std::size_t k) {
  const auto place = query.place.find(id);
  const bool listed = place != query.place.end();
  if (listed && place->second < k) return Verdict::right;
  if (k > query.truth.size()) return Verdict::wrong;  // all that are true are listed
  if (query.distances.empty()) {
    return query.truth_ends && !listed ? Verdict::wrong : Verdict::unknown;
  }
  const double kth = query.distances[k - 1];
  if (!query.computed.empty()) {
    const double key = query.computed.at(id);
    if (key < kth) return Verdict::better_than_truth;
    return key == kth ? Verdict::right : Verdict::wrong;
  }
  if (listed) return query.distances[place->second] == kth ? Verdict::right : Verdict::wrong;
  const bool tie_goes_on = query.distances.back() == kth && !query.truth_ends;
  return tie_goes_on ? Verdict::unknown : Verdict::wrong;
}

// What the queries gave for one k.
struct Tally {
  std::int64_t k;
  std::vector<Share> recalls = {};
  std::vector<Share> nearest = {};
  std::int64_t open_recalls = 0;
  std::int64_t open_nearest = 0;
  std::int64_t wrong_truth = 0;

  void add(const Query& query) {
    const auto count = static_cast<std::size_t>(k);
    Share share{0, std::min(k, std::ssize(query.truth))};
    std::unordered_set<std::int64_t> seen;
    Verdict nearest_one = Verdict::wrong;  // the best of them
    bool unknown = false;
    bool better_than_truth = false;
    for (const std::int64_t id : query.found.first(count)) {
      if (id == kNoId || !seen.insert(id).second) continue;
      const Verdict among_k = verdict(query, id, count);
      share.right += among_k >= Verdict::right ? 1 : 0;
      unknown |= among_k == Verdict::unknown;
      better_than_truth |= among_k == Verdict::better_than_truth;
      nearest_one = std::max(nearest_one, verdict(query, id, 1));
    }
    recalls.push_back(share);
    nearest.push_back({nearest_one >= Verdict::right ? 1 : 0, 1});
    open_recalls += unknown ? 1 : 0;
    open_nearest += nearest_one == Verdict::unknown ? 1 : 0;
    wrong_truth += better_than_truth ? 1 : 0;
  }

  RecallAt result() const {
    RecallAt at{k, estimate(recalls), estimate(nearest), wrong_truth};
    at.recall.open = open_recalls;
    at.nearest.open = open_nearest;
    return at;
  }
};

void check_table(const IdTable& table, const char* what) {
  const std::int64_t expected = checked_mul(table.rows, table.cols, "rows x columns of ids");
  if (std::ssize(table.ids) != expected) {
    fail(ErrorCode::invalid_argument, "{} x {} {} ids are {}, got {}", table.rows, table.cols, what,
         expected, table.ids.size());
  }
  const auto wrong = std::ranges::find_if(table.ids, [](auto id) { return id < kNoId; });
  if (wrong != table.ids.end()) {
    fail(ErrorCode::invalid_argument, "a {} id is {}: an id is a row, or -1 where there is none",
         what, *wrong);
  }
}

void check_input(const IdTable& found, const IdTable& truth, const std::vector<std::int64_t>& at) {
  check_table(found, "found");
  check_table(truth, "true");
  if (found.rows != truth.rows) {
    fail(ErrorCode::invalid_argument,
         "{} queries were answered, but the truth is of {}: they must be the same queries",
         found.rows, truth.rows);
  }
  for (const std::int64_t k : at) {
    if (k < 1 || k > found.cols || k > truth.cols) {
      fail(ErrorCode::invalid_argument,
           "recall@{} needs k of at least 1, {} found neighbours a query and {} true ones; there "
           "are {} and {}",
           k, k, k, found.cols, truth.cols);
    }
  }
}

// `columns` says where the true ids stood among the padding.
Query make_query(const IdTable& found, const IdTable& truth, std::int64_t row,
                 std::vector<std::size_t>& columns) {
  Query query;
  query.found = row_of(found, row);
  columns.clear();
  const auto ids = row_of(truth, row);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == kNoId) continue;
    if (!query.place.emplace(ids[i], query.truth.size()).second) {
      fail(ErrorCode::invalid_argument, "the truth of query {} has id {} twice", row, ids[i]);
    }
    query.truth.push_back(ids[i]);
    columns.push_back(i);
  }
  query.truth_ends = query.truth.size() < ids.size();
  return query;
}

// Runs `complete`, which adds what is known about distances, and then the tallies, for each query.
template <class Complete>
Recall recall_of(const IdTable& found, const IdTable& truth, const std::vector<std::int64_t>& at,
                 const Complete& complete) {
  check_input(found, truth, at);
  Recall recall;
  std::vector<Tally> tallies;
  tallies.reserve(at.size());
  for (const std::int64_t k : at) tallies.push_back({k});
  std::vector<std::size_t> columns;
  for (std::int64_t row = 0; row < found.rows; ++row) {
    Query query = make_query(found, truth, row, columns);
    if (query.truth.empty()) {
      ++recall.empty_queries;
      continue;
    }
    ++recall.queries;
    complete(row, columns, query);
    for (Tally& tally : tallies) tally.add(query);
  }
  if (recall.queries == 0) {
    fail(ErrorCode::invalid_argument, "none of the {} queries has a true neighbour", truth.rows);
  }
  for (const Tally& tally : tallies) recall.at.push_back(tally.result());
  return recall;
}

void check_distances(const IdTable& ids, MatrixView distances) {
  const bool floats = distances.dtype() == DType::f32 || distances.dtype() == DType::f64;
  if (!floats || distances.rows() != ids.rows || distances.cols() != ids.cols) {
    fail(ErrorCode::invalid_argument,
         "the truth has {} x {} ids, its distances are {} x {} of {}: expected as many, f32 or f64",
         ids.rows, ids.cols, distances.rows(), distances.cols(), to_string(distances.dtype()));
  }
}

void check_id(std::int64_t id, std::int64_t rows, std::int64_t query, const char* what) {
  if (id < 0 || id >= rows) {
    fail(ErrorCode::invalid_argument,
         "query {}: the {} id {} is no row of the base, which has {}: is it another base?", query,
         what, id, rows);
  }
}

// Exact keys of single pairs, by the search itself.
class PairKeys {
 public:
  PairKeys(const RowSource& queries, const RowSource& base, MetricSpec metric, Context context)
      : queries_(queries), base_(base), context_(std::move(context)) {
    options_.metric = metric;
    context_.threads = 1;
    context_.progress = {};
    context_.memory_limit = {};
  }

  // One a given id; NaN, which equals nothing, for a row that search never returns.
  std::vector<double> operator()(std::int64_t query, std::span<const std::int64_t> ids) {
    const auto count = static_cast<std::int64_t>(ids.size());
    Matrix one(queries_.dtype(), 1, queries_.cols());
    queries_.read(query, 1, one, 0);
    Matrix rows(base_.dtype(), count, base_.cols());
    for (std::int64_t i = 0; i < count; ++i) {
      base_.read(ids[static_cast<std::size_t>(i)], 1, rows, i);
    }
    options_.k = count;
    const Neighbors found = knn(one, rows, options_, context_);
    std::vector<double> keys(ids.size(), std::numeric_limits<double>::quiet_NaN());
    for (std::int64_t i = 0; i < found.counts[0]; ++i) {
      const auto place = static_cast<std::size_t>(i);
      keys[static_cast<std::size_t>(found.ids[place])] = found.keys[place];
    }
    return keys;
  }

 private:
  const RowSource& queries_;
  const RowSource& base_;
  KnnOptions options_;
  Context context_;
};

}  // namespace

Recall recall(const IdTable& found, const TrueNeighbors& truth,
              const std::vector<std::int64_t>& at) {
  if (!truth.distances) {
    return recall_of(found, truth.ids, at, [](auto&&...) {});
  }
  const MatrixView distances = *truth.distances;
  check_distances(truth.ids, distances);
  std::vector<double> all(static_cast<std::size_t>(distances.cols()));
  return recall_of(found, truth.ids, at,
                   [&](std::int64_t row, const std::vector<std::size_t>& columns, Query& query) {
                     decode_row(distances.dtype(), distances.row(row), distances.cols(),
                                all.data());
                     for (const std::size_t column : columns) {
                       query.distances.push_back(all[column]);
                     }
                   });
}

Recall recall(const IdTable& found, const IdTable& truth, const std::vector<std::int64_t>& at,
              const RowSource& queries, const RowSource& base, MetricSpec metric,
              const Context& context) {
  check_on_cpu(context, "recall");
  if (queries.rows() != found.rows) {
    fail(ErrorCode::invalid_argument, "{} queries were answered, but there are {}", found.rows,
         queries.rows());
  }
  const std::int64_t pairs = found.cols + truth.cols;  // of a query, about
  Monitor monitor(context, found.rows * pairs);
  PairKeys pair_keys(queries, base, metric, context);
  const auto complete = [&](std::int64_t row, const std::vector<std::size_t>&, Query& query) {
    for (const std::int64_t id : query.truth) check_id(id, base.rows(), row, "true");
    std::vector<std::int64_t> ids = query.truth;
    for (const std::int64_t id : query.found) {
      if (id == kNoId) continue;
      check_id(id, base.rows(), row, "found");
      ids.push_back(id);
    }
    const std::vector<double> keys = pair_keys(row, ids);
    query.distances.assign(keys.begin(), keys.begin() + std::ssize(query.truth));
    for (std::size_t i = 0; i < ids.size(); ++i) query.computed.emplace(ids[i], keys[i]);
    monitor.advance(pairs);
  };
  Recall result = recall_of(found, truth, at, complete);
  monitor.finish();
  return result;
}

}  // namespace nearfield
