#include "index/lsh/lsh_tune.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include <nearfield/knn.hpp>

#include "core/fail.hpp"
#include "core/float_environment.hpp"
#include "core/tasks.hpp"
#include "index/lsh/lsh_functions.hpp"
#include "index/lsh/lsh_probes.hpp"
#include "index/lsh/lsh_tuning.hpp"
#include "search/tiled_rows.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kMostQueries = 1'000;
constexpr std::int64_t kMostNeighbours = 20'000;  // of all queries
constexpr std::int64_t kBucketRows = 1 << 14;     // whose buckets tell how many rows those have
constexpr std::int64_t kBucketQueries = 128;      // of the queries, those that are asked for that
constexpr std::int64_t kTriedTables = 32;
constexpr int kLeastTriedBits = 6;
constexpr int kMostTriedBits = 26;
// Powers of two, up to 256 probes.
constexpr std::size_t kProbeSizes = 9;
constexpr std::int64_t kTriedProbes = std::int64_t{1} << (kProbeSizes - 1);
constexpr auto kNotProbed = static_cast<std::uint16_t>(kTriedProbes);

// How sure the recall is to be: of a normal distribution, in standard deviations. 90 %.
constexpr double kSureness = 1.28;

std::vector<std::int64_t> at_even_distances(std::int64_t rows, std::int64_t most) {
  const std::int64_t count = std::min(rows, most);
  std::vector<std::int64_t> picks(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) picks[static_cast<std::size_t>(i)] = i * rows / count;
  return picks;
}

Matrix picked(const RowSource& rows, std::span<const std::int64_t> picks) {
  return read_all(PickedRows(rows, picks));
}

// Queries, and which rows are nearest to each.
struct AskedSample {
  Matrix queries;
  Matrix neighbours;  // k of each query, one after the other; fewer of some
  std::vector<std::int64_t> ends;
};

AskedSample ask_sample(const IndexSpec& spec, const RowSource& rows, const RowSource& queries,
                       std::int64_t k, const Context& context) {
  const bool own = queries.rows() == 0;
  const RowSource& asked = own ? rows : queries;
  const auto picks = at_even_distances(
      asked.rows(), std::clamp<std::int64_t>(kMostNeighbours / k, 100, kMostQueries));
  AskedSample sample;
  sample.queries = picked(asked, picks);
  Context quiet = context;
  quiet.progress = {};
  const Neighbors nearest =
      knn(MatrixRows(sample.queries), rows, {.k = own ? k + 1 : k, .metric = spec.metric}, quiet);
  std::vector<std::int64_t> found;
  for (std::int64_t query = 0; query < nearest.queries; ++query) {
    std::int64_t left = k;
    for (const std::int64_t id : nearest.ids_of(query)) {
      const bool itself = own && id == picks[static_cast<std::size_t>(query)];
      if (id != kNoId && !itself && left-- > 0) found.push_back(id);
    }
    sample.ends.push_back(std::ssize(found));
  }
  sample.neighbours = picked(rows, found);
  return sample;
}

// What one number of bits does: of each neighbour and table, with which probe it is found; of each
// table and number of probes, how many rows are met.
struct TriedBits {
  int bits = 0;
  std::vector<std::uint16_t> probes;                 // neighbour by neighbour, table by table
  std::vector<std::array<double, kProbeSizes>> met;  // parts of all rows, of each table
};

struct TriedChoice {
  LshParameters parameters;
  double recall = 0;
  double met = 0;
  double cost = std::numeric_limits<double>::infinity();
};

class LshTrial {
 public:
  LshTrial(const IndexSpec& spec, const LshParameters& parameters, const RowSource& rows,
           const AskedSample& sample, const Context& context, const Monitor& monitor)
      : spec_(spec),
        parameters_(parameters),
        rows_(rows.rows()),
        sample_(sample),
        threads_(resolve_threads(context.threads)),
        monitor_(monitor),
        most_bits_(
            std::clamp(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows_))) + 2,
                       kLeastTriedBits, kMostTriedBits)) {
    parameters_.bits = most_bits_;
    parameters_.tables = kTriedTables;
    const Matrix like = picked(rows, at_even_distances(rows_, kBucketRows));
    functions_ = make_lsh_functions(parameters_, spec.metric, like, rows_, monitor);
    row_keys_ = keys_of(like);
    neighbour_keys_ = keys_of(sample.neighbours);
    project_queries();
  }

  // The cheapest that finds enough, or the one that finds most.
  TriedChoice best(double recall) const {
    TriedChoice best;
    TriedChoice most;
    for (int bits = kLeastTriedBits; bits <= most_bits_; bits += 2) {
      const TriedBits tried = try_bits(bits);
      for (std::size_t size = 0; size < kProbeSizes; ++size) {
        const TriedChoice choice = choose_tables(tried, size, recall);
        if (choice.recall > most.recall) most = choice;
        if (is_enough(choice.recall, recall) && choice.cost < best.cost) best = choice;
      }
    }
    return best.cost < std::numeric_limits<double>::infinity() ? best : most;
  }

  bool is_enough(double found, double recall) const {
    const auto queries = static_cast<double>(sample_.queries.rows());
    return found - kSureness * std::sqrt(found * (1 - found) / queries) >= recall;
  }

 private:
  using Keys = std::vector<std::vector<std::uint64_t>>;  // of each table, of each row

  Keys keys_of(MatrixView rows) const {
    Keys keys(static_cast<std::size_t>(kTriedTables));
    for (std::int64_t table = 0; table < kTriedTables; ++table) {
      auto& own = keys[static_cast<std::size_t>(table)];
      own.resize(static_cast<std::size_t>(rows.rows()));
      lsh_keys(rows, functions_.view(), spec_.metric, table, threads_, monitor_, own.data());
    }
    return keys;
  }

  void project_queries() {
    const MatrixView queries = sample_.queries;
    const std::int64_t each = functions_.directions.rows();
    projections_.resize(static_cast<std::size_t>(queries.rows() * each));
    LshProjector projector(queries.dtype(), queries.cols(), spec_.metric, default_isa());
    for (std::int64_t query = 0; query < queries.rows(); ++query) {
      monitor_.check();
      projector.load(queries.row(query));
      projector.project(functions_.directions, std::span(projections_)
                                                   .subspan(static_cast<std::size_t>(query * each),
                                                            static_cast<std::size_t>(each)));
    }
  }

  // The first bits of a key are those of a shorter one: planes are drawn one after the other.
  static std::uint64_t first_bits(std::uint64_t key, int bits) {
    return key & ((std::uint64_t{1} << bits) - 1);
  }

  TriedBits try_bits(int bits) const {
    TriedBits tried{bits, {}, {}};
    tried.probes.assign(static_cast<std::size_t>(sample_.neighbours.rows() * kTriedTables),
                        kNotProbed);
    tried.met.resize(static_cast<std::size_t>(kTriedTables));
    run_tasks(kTriedTables, threads_, [&](std::int64_t table, int) { try_table(table, tried); });
    return tried;
  }

  void try_table(std::int64_t table, TriedBits& tried) const {
    const DefaultFloats floats;
    std::vector<std::uint64_t> buckets;
    for (const std::uint64_t key : row_keys_[static_cast<std::size_t>(table)]) {
      buckets.push_back(first_bits(key, tried.bits));
    }
    std::ranges::sort(buckets);
    LshProbes probes;
    std::vector<ProbeStep> steps;
    std::vector<std::uint64_t> keys(static_cast<std::size_t>(kTriedProbes));
    const LshScheme scheme{parameters_.kind, tried.bits, 1};
    const std::int64_t queries = sample_.queries.rows();
    const std::int64_t counted = std::min(queries, kBucketQueries);
    for (std::int64_t query = 0; query < queries; ++query) {
      monitor_.check();
      const auto first = static_cast<std::size_t>(query * functions_.directions.rows() +
                                                  table * functions_.scheme.projections());
      const auto own = std::span<const double>(projections_)
                           .subspan(first, static_cast<std::size_t>(tried.bits));
      const auto levels =
          functions_.view().levels_of(table).first(static_cast<std::size_t>(tried.bits));
      steps.clear();
      lsh_hash(scheme).add_steps(own, levels, steps);
      probes.find(lsh_hash(scheme).key(own, levels), steps, keys);
      note_neighbours(query, table, keys, tried);
      if (query < counted) {
        add_met(keys, buckets, tried.met[static_cast<std::size_t>(table)],
                1.0 / static_cast<double>(counted * std::ssize(buckets)));
      }
    }
  }

  void note_neighbours(std::int64_t query, std::int64_t table, std::span<const std::uint64_t> keys,
                       TriedBits& tried) const {
    const auto i = static_cast<std::size_t>(query);
    for (std::int64_t at = i > 0 ? sample_.ends[i - 1] : 0; at < sample_.ends[i]; ++at) {
      const std::uint64_t key =
          first_bits(neighbour_keys_[static_cast<std::size_t>(table)][static_cast<std::size_t>(at)],
                     tried.bits);
      tried.probes[static_cast<std::size_t>(at * kTriedTables + table)] =
          static_cast<std::uint16_t>(std::ranges::find(keys, key) - keys.begin());
    }
  }

  // Fewer bits than tell so many buckets apart have some of them twice: they count once.
  static void add_met(std::span<const std::uint64_t> keys, std::span<const std::uint64_t> buckets,
                      std::array<double, kProbeSizes>& met, double share) {
    double sum = 0;
    std::size_t done = 0;
    for (std::size_t size = 0; size < kProbeSizes; ++size) {
      for (; done < std::size_t{1} << size; ++done) {
        if (done > 0 && keys[done] == keys[0]) continue;
        const auto [begin, end] = std::ranges::equal_range(buckets, keys[done]);
        sum += static_cast<double>(end - begin);
      }
      met[size] += sum * share;
    }
  }

  // As few tables as find enough with so many probes, or all.
  TriedChoice choose_tables(const TriedBits& tried, std::size_t size, double recall) const {
    const auto probes = std::int64_t{1} << size;
    TriedChoice choice{parameters_, 0, 0};
    choice.parameters.bits = tried.bits;
    choice.parameters.probes = probes;
    const std::int64_t neighbours = sample_.neighbours.rows();
    std::vector<bool> found(static_cast<std::size_t>(neighbours));
    std::int64_t count = 0;
    for (std::int64_t table = 0; table < kTriedTables; ++table) {
      for (std::int64_t i = 0; i < neighbours; ++i) {
        const auto at = static_cast<std::size_t>(i);
        if (found[at] ||
            tried.probes[static_cast<std::size_t>(i * kTriedTables + table)] >= probes) {
          continue;
        }
        found[at] = true;
        ++count;
      }
      choice.parameters.tables = table + 1;
      choice.recall =
          static_cast<double>(count) / static_cast<double>(std::max<std::int64_t>(neighbours, 1));
      choice.met += tried.met[static_cast<std::size_t>(table)][size];
      if (is_enough(choice.recall, recall)) break;
    }
    choice.cost = cost_of(choice);
    return choice;
  }

  // Of a query. Rows that several tables meet are counted for each.
  double cost_of(const TriedChoice& choice) const {
    const auto tables = static_cast<double>(choice.parameters.tables);
    const double projections =
        tables * static_cast<double>(choice.parameters.bits) * static_cast<double>(spec_.cols);
    const double rows = choice.met * static_cast<double>(rows_);
    const auto bytes = static_cast<double>(row_bytes(spec_.dtype, spec_.cols));
    return projections * kLshTuning.projected_value +
           tables * static_cast<double>(choice.parameters.probes) * kLshTuning.probe +
           rows * (kLshTuning.met + kLshTuning.candidate + bytes * kLshTuning.candidate_byte);
  }

  const IndexSpec& spec_;
  LshParameters parameters_;
  std::int64_t rows_;
  const AskedSample& sample_;
  int threads_;
  const Monitor& monitor_;
  int most_bits_;
  OwnLshFunctions functions_;
  Keys row_keys_;
  Keys neighbour_keys_;
  std::vector<double> projections_;  // query by query
};

}  // namespace

TunedIndex tune_lsh(const IndexSpec& spec, const LshParameters& parameters, const RowSource& rows,
                    const RowSource& queries, const TuneIndexOptions& options,
                    const Context& context) {
  const bool planes = parameters.kind != LshKind::floor && parameters.kind != LshKind::e8;
  if (!planes || parameters.each != 1) {
    fail(ErrorCode::unsupported,
         "hashes of one bit a projection are tuned: sign, gaussian and learned");
  }
  if (context.memory_limit) {
    fail(ErrorCode::unsupported, "tuning an index keeps to no memory limit: leave it out");
  }
  const DefaultFloats floats;
  const Monitor monitor(context, 1);
  const AskedSample sample = ask_sample(spec, rows, queries, options.k, context);
  const LshTrial trial(spec, parameters, rows, sample, context, monitor);
  const TriedChoice choice = trial.best(options.recall);
  const bool looks_at_all = choice.met >= 1;
  if (looks_at_all || !trial.is_enough(choice.recall, options.recall)) {
    fail(ErrorCode::unsupported,
         "of the {} nearest, {:.4g} are to be found, and {} find {:.4g} of them, looking at {} of "
         "the rows: use flat, which finds all",
         options.k, options.recall, lsh_family(choice.parameters), choice.recall,
         looks_at_all ? "all" : "some");
  }
  return {lsh_family(choice.parameters), choice.recall, choice.met};
}

}  // namespace nearfield
