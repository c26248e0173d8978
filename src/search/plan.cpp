#include "search/plan.hpp"

#include <algorithm>

#include "core/checked.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kLeastBlockPairs = 256;
constexpr std::int64_t kLeastChunkBytes = 16 << 10;
constexpr std::int64_t kWorkerBytes = 1024;  // of a thread, whatever the shapes
constexpr std::int64_t kCallBytes = 4096;    // of the call: names, buffers' alignment, tasks

// Of all workers: keys and candidates of a block, thresholds of its queries and rows, the query as
// float64 and as float32.
std::int64_t scratch_bytes(const Plan& plan, const SearchShape& shape) {
  std::int64_t pairs = plan.query_tile * plan.row_tile;
  if (shape.tiles) pairs = std::min(pairs, shape.tiles->most_listed.value_or(pairs));
  const std::int64_t pair_bytes =
      shape.tiles ? shape.tiles->listed_bytes : TileShape().listed_bytes;
  return plan.threads * (pairs * pair_bytes + plan.query_tile * 16 + plan.row_tile * 8 +
                         shape.cols * 12 + kWorkerBytes);
}

// Work too small to be worth waking threads for.
bool runs_inline(std::int64_t pairs, const SearchShape& shape, const Tuning& tuning) {
  const double values =
      static_cast<double>(pairs) * static_cast<double>(std::max<std::int64_t>(shape.cols, 8));
  return values * shape.value_cost * tuning.nanoseconds_per_value < tuning.inline_below_nanoseconds;
}

void choose_tiles(const SearchShape& shape, const Tuning& tuning, std::int64_t block_pairs,
                  Plan& plan) {
  const auto block_values =
      static_cast<std::int64_t>(static_cast<double>(tuning.block_values) / shape.value_cost);
  const std::int64_t pairs = std::clamp(block_values / std::max<std::int64_t>(shape.cols, 1),
                                        std::int64_t{1}, block_pairs);
  const std::int64_t rows_in_cache = std::max<std::int64_t>(
      tuning.row_tile_bytes / std::max<std::int64_t>(shape.base_row_bytes, 1), 16);
  const std::int64_t queries = std::max<std::int64_t>(shape.queries, 1);
  const std::int64_t rows = std::min({rows_in_cache, pairs, std::max<std::int64_t>(shape.rows, 1)});
  plan.query_tile = std::clamp(pairs / rows, std::int64_t{1}, queries);
  plan.row_tile =
      std::clamp(pairs / plan.query_tile, std::int64_t{1}, std::max<std::int64_t>(shape.rows, 1));
}

// As above, for tiles: whole groups of queries and rows.
void choose_whole_tiles(const SearchShape& shape, const TileShape& tiles,
                        std::int64_t tasks_per_thread, int halvings, Plan& plan) {
  const auto fit = [](std::int64_t most, std::int64_t count, std::int64_t unit) {
    return round_up(std::clamp(most, std::int64_t{1}, std::max<std::int64_t>(count, 1)), unit);
  };
  const std::int64_t pairs = tiles.most_pairs >> halvings;
  plan.row_tile = fit(std::min(tiles.most_rows, pairs / tiles.queries), shape.rows, tiles.rows);
  const std::int64_t most = std::min(tiles.most_queries, pairs / plan.row_tile);
  // Of one size: two times 300 rather than 512 and 88.
  const std::int64_t parts = tiles.keep_queries_together
                                 ? divide_up(shape.queries, std::max<std::int64_t>(most, 1))
                                 : plan.threads * tasks_per_thread;
  const std::int64_t even = divide_up(shape.queries, std::max<std::int64_t>(parts, 1));
  plan.query_tile = fit(std::min(most, even), shape.queries, tiles.queries);
}

// Reading fewer at a time would cost more in calls than in bytes.
std::int64_t least_chunk_rows(const SearchShape& shape) {
  const std::int64_t rows = kLeastChunkBytes / std::max<std::int64_t>(shape.base_row_bytes, 1);
  return std::clamp(rows, std::int64_t{1}, std::max<std::int64_t>(shape.rows, 1));
}

// One query keeps all threads busy only if the base is cut into parts, each with a sink of its own;
// `bytes` are left for those.
std::int64_t row_parts(const Plan& plan, const Tuning& tuning, std::int64_t sink_bytes,
                       std::int64_t bytes) {
  if (plan.threads == 1) return 1;
  const std::int64_t tiles = divide_up(plan.query_batch, plan.query_tile);
  const std::int64_t wanted = divide_up(plan.threads * tuning.tasks_per_thread, tiles);
  const std::int64_t most =
      std::min(divide_up(plan.base_chunk, plan.row_tile),
               1 + bytes / std::max<std::int64_t>(plan.query_batch * sink_bytes, 1));
  return std::clamp(wanted, std::int64_t{1}, std::max<std::int64_t>(most, 1));
}

[[noreturn]] void fail_memory(const SearchShape& shape, std::int64_t least) {
  fail(
      ErrorCode::memory_limit,
      "the search needs at least {} bytes ({} for the results of {} queries, {} for the work of {} "
      "threads) but the memory limit is {}: raise it, ask for fewer queries at a time or fewer "
      "results of each",
      least, shape.result_bytes, shape.queries, least - shape.result_bytes, shape.threads,
      *shape.memory_limit);
}

// Blocks, by how much a worker may take. Under a tight limit blocks shrink first: they cost speed,
// not passes over the base.
void choose_blocks(const SearchShape& shape, const Tuning& tuning, std::int64_t budget,
                   Plan& plan) {
  const std::int64_t least =
      shape.tiles ? shape.tiles->queries * shape.tiles->rows : kLeastBlockPairs;
  for (int halvings = 0;; ++halvings) {
    if (shape.tiles) {
      choose_whole_tiles(shape, *shape.tiles, tuning.tasks_per_thread, halvings, plan);
    } else {
      choose_tiles(shape, tuning, tuning.block_pairs >> halvings, plan);
    }
    const bool fits = scratch_bytes(plan, shape) <= budget / 4;
    if (fits || plan.query_tile * plan.row_tile <= least || halvings == 62) return;
  }
}

// Empty if it does not fit the memory limit; then `least` says what it needs.
std::optional<Plan> try_plan(const SearchShape& shape, const Tuning& tuning, std::int64_t& least) {
  Plan plan;
  plan.pairs = checked_mul(shape.queries, shape.rows, "queries x rows");
  plan.result_bytes = shape.result_bytes;
  plan.threads = runs_inline(plan.pairs, shape, tuning) ? 1 : shape.threads;

  const std::int64_t budget = shape.memory_limit
                                  ? *shape.memory_limit - plan.result_bytes - shape.fixed_bytes
                                  : std::max(tuning.default_budget, plan.result_bytes);
  choose_blocks(shape, tuning, budget, plan);

  const std::int64_t query_bytes = std::max<std::int64_t>(
      shape.sink_bytes + shape.query_buffer_bytes + shape.query_filter_bytes, 1);
  const std::int64_t row_bytes = shape.base_buffer_bytes + shape.base_filter_bytes;
  const std::int64_t least_chunk = least_chunk_rows(shape);
  const std::int64_t scratch = scratch_bytes(plan, shape) + kCallBytes;
  least = plan.result_bytes + shape.fixed_bytes + scratch + query_bytes + least_chunk * row_bytes;
  if (shape.memory_limit && least > *shape.memory_limit) return std::nullopt;

  std::int64_t left = budget - scratch;
  plan.base_chunk = shape.rows;
  if (row_bytes > 0) {
    // Half of what one query leaves; `least` has made sure that the least chunk fits too.
    const std::int64_t most = shape.base_buffer_bytes > 0 ? tuning.chunk_bytes : left;
    const std::int64_t bytes = std::min(most, (left - query_bytes) / 2);
    plan.base_chunk = std::clamp(bytes / row_bytes, least_chunk, std::max(shape.rows, least_chunk));
    left -= plan.base_chunk * row_bytes;
  }
  if (shape.most_chunk) plan.base_chunk = std::min(plan.base_chunk, *shape.most_chunk);
  plan.query_batch =
      std::clamp(left / query_bytes, std::int64_t{1}, std::max<std::int64_t>(shape.queries, 1));
  if (shape.most_batch) plan.query_batch = std::min(plan.query_batch, *shape.most_batch);
  left -= plan.query_batch * query_bytes;
  plan.passes = divide_up(shape.queries, plan.query_batch);
  if (runs_inline(plan.query_batch * plan.base_chunk, shape, tuning)) plan.threads = 1;
  plan.row_parts = row_parts(plan, tuning, shape.sink_bytes, left);
  if (shape.tiles && shape.tiles->most_row_parts) {
    plan.row_parts = std::min(plan.row_parts, *shape.tiles->most_row_parts);
  }
  plan.filter_row_bytes = shape.base_filter_bytes;
  plan.working_bytes = shape.fixed_bytes + scratch + plan.base_chunk * row_bytes +
                       plan.query_batch * (query_bytes + (plan.row_parts - 1) * shape.sink_bytes);
  return plan;
}

}  // namespace

Tuning& default_tuning() {
  static Tuning tuning;
  return tuning;
}

Plan make_plan(const SearchShape& shape, const Tuning& tuning) {
  std::int64_t least = 0;
  const std::optional<Plan> plan = try_plan(shape, tuning, least);
  if (!plan) fail_memory(shape, least);
  return *plan;
}

bool fits(const SearchShape& shape, const Tuning& tuning, std::int64_t queries) {
  std::int64_t least = 0;
  const std::optional<Plan> plan = try_plan(shape, tuning, least);
  return plan && plan->query_batch >= queries;
}

}  // namespace nearfield
