#include "search/knn.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/fail.hpp"
#include "core/infinity.hpp"
#include "filter/rounded/rounding.hpp"
#include "scan/top_k_sink.hpp"
#include "search/allowed_rows.hpp"
#include "search/check_rows.hpp"
#include "search/engine.hpp"
#include "search/neighbor_results.hpp"
#include "search/seeds.hpp"
#include "search/tiled_rows.hpp"

namespace nearfield {
namespace {

constexpr const char* kKnnAdvice = "ask for fewer queries at a time or fewer results of each";

void check_after(std::span<const Neighbor> after, std::int64_t queries) {
  if (!after.empty() && static_cast<std::int64_t>(after.size()) != queries) {
    fail(ErrorCode::invalid_argument, "`after` has an entry for each of {} queries, got {}",
         queries, after.size());
  }
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (std::isnan(after[i].key)) {
      fail(ErrorCode::invalid_argument, "`after` of query {} has the key NaN", i);
    }
  }
}

// What knn is asked, and how it runs.
struct Question {
  const RowSource& queries;
  const RowSource& base;
  const KnnOptions& options;
  const Context& context;
  const Tuning& tuning;
  const RowFinder* finder = nullptr;
};

// Of a query whose sample had too few rows to guess by. A limit may be -infinity: the key of a
// product that overflows.
constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// Queries that are searched again, at a time: so many that their rows and results take this.
constexpr std::int64_t kAgainBytes = 16 << 20;

std::int64_t again_at_once(const Question& question) {
  const std::int64_t bytes = result_bytes(1, question.options.k) +
                             row_bytes(question.queries.dtype(), question.queries.cols());
  return std::max<std::int64_t>(kAgainBytes / bytes, 1);
}

void check_options(const Question& question) {
  check_k(question.options.k);
  check_after(question.options.after, question.queries.rows());
  check_ids(question.options.ids, question.base.rows());
}

// Whether a row that is too far costs much less than one that is not.
bool has_filter(const Question& question) {
  const MetricSpec metric = question.options.metric;
  const Isa isa = question.context.isa ? *question.context.isa : default_isa();
  return metric.metric == Metric::hamming ||
         choose_rounding(metric, question.queries.dtype(), question.base.dtype(),
                         question.base.cols(), isa);
}

// Of a search by tiles of rows in memory, as they are or prepared, all of which may be found, or
// those of a bitset. Under a memory limit the search is cut to fit, and has no room for another.
std::optional<Sampling> sampling_of(const Question& question) {
  const KnnOptions& options = question.options;
  const RowSource& base = question.base;
  if (question.finder != nullptr) return std::nullopt;
  if (!(base.in_memory() || base.prepared() != nullptr) || !question.queries.in_memory() ||
      question.context.memory_limit || options.exclude_self || !options.after.empty() ||
      question.queries.rows() < question.tuning.tiles.least_queries ||
      base.cols() != question.queries.cols() || !has_filter(question) ||
      allowed_rows(options.filter, base.rows()) <
          base.rows() / question.tuning.tiles.most_forbidden) {
    return std::nullopt;
  }
  return choose_sampling(base, options.filter, options.k);
}

KnnOptions in_sample(KnnOptions options, const Sampling& sampling) {
  options.k = sampling.rank;
  options.filter = sampling.filter();
  options.check_finite = false;  // the whole is looked at for that
  options.ids = {};              // only keys are asked for
  return options;
}

// `beside`: bytes that it has beside the search itself.
Engine plan_search(const Question& question, std::int64_t beside) {
  const auto& [queries, base, options, context, tuning, finder] = question;
  Engine engine(
      {queries, base, options.metric, options.filter,
       options.exclude_self ? Meets::other_rows : Meets::every_row, options.check_finite, finder},
      context);
  engine.plan({.sink_of_a_query = TopKSink::bytes_per_query(std::min(options.k, base.rows())),
               .shared = beside,
               .result = result_bytes(queries.rows(), options.k),
               .threshold_rank = std::max<std::int64_t>(options.k, 1),
               .first_of_any = options.after.empty() && options.ids.empty() ? options.k : 0},
              TopK<Neighbor>::name(options.k), tuning);
  return engine;
}

// Every row is looked at, but for those above the limits, if there are any.
Neighbors search(const Question& question, Engine& engine, std::span<const double> limits,
                 Monitor& monitor) {
  const KnnOptions& options = question.options;
  const std::int64_t k = std::min(options.k, question.base.rows());
  Neighbors result = nothing_found(question.queries.rows(), options.k, options.metric, monitor);
  result.stats = engine.run(
      monitor,
      [&](Range batch) {
        return std::make_unique<TopKSink>(
            batch, k, TopKRules{.after = options.after, .limits = limits, .ids = options.ids});
      },
      [&](Range batch, Sink& sink) {
        write_results(batch, static_cast<TopKSink&>(sink), options.metric, engine.plan().threads,
                      monitor, result);
      });
  result.exact = engine.exact();
  return result;
}

// The same with what it takes, as a part of a search that has begun.
Neighbors search_within_another(const Question& question) {
  Context context = question.context;
  context.progress = {};
  const Question own{question.queries, question.base, question.options, context, question.tuning};
  Engine engine = plan_search(own, 0);
  Monitor monitor(context, engine.plan().pairs);
  return search(own, engine, {}, monitor);
}

// What it has beside the search for which it guesses: the limits, and what is searched before or
// again.
std::int64_t bytes_of_guesses(const Question& question, const Sampling& sampling) {
  const KnnOptions options = in_sample(question.options, sampling);
  const Plan plan =
      plan_search({question.queries, sampling.rows, options, question.context, question.tuning}, 0)
          .plan();
  return question.queries.rows() * static_cast<std::int64_t>(sizeof(double)) + plan.result_bytes +
         plan.working_bytes + sampling.bytes() + 2 * kAgainBytes;
}

// Queries of which fewer than k rows are within the limit, so that it was too low.
void search_again(const Question& question, std::span<const double> limits, Neighbors& result) {
  std::vector<std::int64_t> unfinished;
  for (std::int64_t query = 0; query < result.queries; ++query) {
    const auto i = static_cast<std::size_t>(query);
    if (result.counts[i] < result.k && limits[i] < kNoLimit) unfinished.push_back(query);
  }
  const MatrixRows queries(question.queries.in_memory().value());
  const std::int64_t at_once = again_at_once(question);
  for (std::int64_t done = 0; done < std::ssize(unfinished); done += at_once) {
    const auto some =
        std::span<const std::int64_t>(unfinished)
            .subspan(static_cast<std::size_t>(done))
            .first(static_cast<std::size_t>(std::min(at_once, std::ssize(unfinished) - done)));
    const Matrix rows = read_all(PickedRows(queries, some));
    const MatrixRows source(rows);
    put_results(some,
                search_within_another(
                    {source, question.base, question.options, question.context, question.tuning}),
                result);
  }
}

Neighbors search_with_guesses(const Question& question, const Sampling& sampling, Engine& engine,
                              Monitor& monitor) {
  const KnnOptions options = in_sample(question.options, sampling);
  std::vector<double> limits;
  std::int64_t verified = 0;
  {
    const Neighbors sampled = search_within_another(
        {question.queries, sampling.rows, options, question.context, question.tuning});
    limits = guessed_limits(sampled);
    verified = sampled.stats.pairs_verified;
  }
  Neighbors result = search(question, engine, limits, monitor);
  search_again(question, limits, result);
  result.stats.pairs_verified += verified;
  result.stats.seconds = monitor.seconds();
  return result;
}

Engine plan_whole(const Question& question, const std::optional<Sampling>& sampling) {
  return plan_search(question, sampling ? bytes_of_guesses(question, *sampling) : 0);
}

Neighbors answer_of(const Question& question) {
  check_options(question);
  const std::optional<Sampling> sampling = sampling_of(question);
  Engine engine = plan_whole(question, sampling);
  return with_memory_errors(engine.plan(), kKnnAdvice, [&] {
    Monitor monitor(question.context, engine.plan().pairs);
    Neighbors result = sampling ? search_with_guesses(question, *sampling, engine, monitor)
                                : search(question, engine, {}, monitor);
    monitor.finish();
    return result;
  });
}

}  // namespace

Neighbors knn(const RowSource& queries, const RowSource& base, const KnnOptions& options,
              const Context& context, const Tuning& tuning) {
  return answer_of({queries, base, options, context, tuning});
}

Neighbors knn(const RowSource& queries, const RowSource& base, const KnnOptions& options,
              const Context& context, const RowFinder& finder) {
  return answer_of({queries, base, options, context, default_tuning(), &finder});
}

Neighbors knn(const RowSource& queries, const RowSource& base, const KnnOptions& options,
              const Context& context) {
  return knn(queries, base, options, context, default_tuning());
}

Plan plan_knn(const RowSource& queries, const RowSource& base, const KnnOptions& options,
              const Context& context) {
  const Question question{queries, base, options, context, default_tuning()};
  check_options(question);
  return plan_whole(question, sampling_of(question)).plan();
}

std::vector<Neighbor> last_of(const Neighbors& found) {
  constexpr Neighbor kBeforeAll{-kInfinity, std::numeric_limits<std::int64_t>::min()};
  constexpr Neighbor kAfterAll{kInfinity, std::numeric_limits<std::int64_t>::max()};
  if (found.k == 0) return std::vector(static_cast<std::size_t>(found.queries), kBeforeAll);
  std::vector<Neighbor> last;
  last.reserve(static_cast<std::size_t>(found.queries));
  for (std::int64_t query = 0; query < found.queries; ++query) {
    const bool full = found.counts[static_cast<std::size_t>(query)] == found.k;
    last.push_back(full ? Neighbor{found.keys_of(query).back(), found.ids_of(query).back()}
                        : kAfterAll);
  }
  return last;
}

}  // namespace nearfield
