#include "index/lsh/lsh_tile_filter.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/fail.hpp"
#include "core/float_environment.hpp"
#include "filter/rounded/rounded_filter.hpp"
#include "index/lsh/lsh_filter_maker.hpp"
#include "index/lsh/met_lists.hpp"
#include "index/lsh/row_marks.hpp"

namespace nearfield {
namespace {

// Of a block at first: then its queries have thresholds.
constexpr std::size_t kFirstShared = 256;

// What the queries of a block have met, and is compared a piece at a time.
struct SharedList {
  SharedList(std::int64_t rows, DType dtype, std::int64_t cols)
      : marks(rows), met_by(static_cast<std::size_t>(rows)), values(dtype, kMostTileRows, cols) {}

  std::int64_t query = -1;  // the first, whose rows from `next` on are marked; -1: nobody's
  std::int64_t next = 0;
  RowMarks marks;
  std::vector<std::uint32_t> met_by;  // of a row, a bit for each query
  std::vector<std::uint32_t> listed;
  Matrix values;  // of these
  Candidates near;

  static std::int64_t bytes(std::int64_t rows, std::int64_t row_bytes) {
    return RowMarks::bytes(rows) + rows * static_cast<std::int64_t>(sizeof(std::uint32_t)) +
           kMostTileRows * row_bytes;
  }
};
static_assert(kTileQueries <= 32);

class LshTileFilter final : public Filter {
 public:
  LshTileFilter(const LshRun& run, const TileKernel& kernel, std::string name)
      : run_(run), kernel_(kernel), name_(std::move(name)) {}

  // Looks at them. `first`: the number of the first query.
  void start(const LshPlaces& places, const BaseRounding& rounding, const RoundedQueries& queries,
             std::int64_t first, Monitor& monitor) {
    places_ = &places;
    rounding_ = &rounding;
    queries_ = &queries;
    first_query_ = first;
    monitor_ = &monitor;
  }
  void take(MatrixView rows) { rows_ = rows; }

  void survivors(const Block& block, std::span<const double> thresholds,
                 Candidates& out) const override {
    std::unique_ptr<SharedList> list = lists_.take(block.queries.begin, block.rows.begin, [&] {
      return std::make_unique<SharedList>(run_.rows.size(), rows_.dtype(), rows_.cols());
    });
    if (list->query != block.queries.begin) gather(block, *list);
    const std::size_t most = block.rows.begin == 0 ? kFirstShared : kMostTileRows;
    list->listed.clear();
    const bool all = list->marks.take(block.rows.end, most, list->listed);
    const std::int64_t end = all ? block.rows.end : list->listed.back() + std::int64_t{1};
    compare(block.queries, thresholds, *list);
    write({block.queries, {block.rows.begin, end}}, *list, out);
    for (const std::uint32_t row : list->listed) list->met_by[row] = 0;
    lists_.give_back(std::move(list), end, run_.rows.size());
  }

  bool certified() const override { return false; }
  std::string name() const override { return name_; }

 private:
  void gather(const Block& block, SharedList& list) const {
    const auto first = static_cast<std::uint32_t>(block.rows.begin);
    for (std::int64_t query = block.queries.begin; query < block.queries.end; ++query) {
      const std::uint32_t bit = std::uint32_t{1} << (query - block.queries.begin);
      for_rows_met(run_, *places_, query - first_query_, *monitor_, [&](std::uint32_t row) {
        if (row < first) return;
        list.marks.add(row);
        list.met_by[row] |= bit;
      });
    }
    list.query = block.queries.begin;
  }

  // Copies the rows that are listed to where tiles of them are made, and multiplies.
  void compare(Range queries, std::span<const double> thresholds, SharedList& list) const {
    const std::int64_t bytes = row_bytes(rows_.dtype(), rows_.cols());
    const std::int64_t count = std::ssize(list.listed);
    if (count == 0) {
      list.near.start_listed({queries, {}});
      for (std::int64_t i = 0; i < queries.size(); ++i) list.near.end_query();
      return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      std::copy_n(rows_.row(list.listed[static_cast<std::size_t>(i)]), bytes, list.values.row(i));
    }
    const RoundedRows tiles(*rounding_, kernel_.form, list.values.view().slice(0, count), 0, 1,
                            *monitor_);
    RoundedFilter(*rounding_, kernel_, *queries_, tiles)
        .survivors({queries, {0, count}}, thresholds, list.near);
  }

  // Of those that are near enough, each query's own.
  static void write(const Block& answered, const SharedList& list, Candidates& out) {
    const Candidates& near = list.near;
    if (near.keyed()) {
      out.start_keyed(answered, near.size());
    } else {
      out.start_listed(answered, near.size());
    }
    std::size_t pair = 0;
    for (std::int64_t query = answered.queries.begin; query < answered.queries.end; ++query) {
      const std::uint32_t bit = std::uint32_t{1} << (query - answered.queries.begin);
      for (std::int64_t i = 0; i < near.count_of(query); ++i, ++pair) {
        const std::uint32_t row = list.listed[static_cast<std::size_t>(near.row(query, i))];
        if ((list.met_by[row] & bit) == 0) continue;
        if (near.keyed()) {
          out.add(row, near.keys()[pair]);
        } else {
          out.add(row);
        }
      }
      out.end_query();
    }
  }

  const LshRun& run_;
  const TileKernel& kernel_;
  std::string name_;
  const LshPlaces* places_ = nullptr;
  const BaseRounding* rounding_ = nullptr;
  const RoundedQueries* queries_ = nullptr;
  std::int64_t first_query_ = 0;
  Monitor* monitor_ = nullptr;
  MatrixView rows_;
  mutable MetLists<SharedList> lists_;
};

class LshTileFilterMaker final : public LshFilterMaker {
 public:
  LshTileFilterMaker(const LshRun& run, std::int64_t probes, MetricSpec metric, Isa isa,
                     BaseRounding rounding)
      : LshFilterMaker(run, probes, metric, isa),
        rounding_(std::move(rounding)),
        kernel_(tile_kernel(isa)),
        filter_(run, kernel_, lsh_filter_name(run, probes) + ", compared by tiles") {}

  void take_queries(const Piece& queries, const Piece& rows, int threads,
                    Monitor& monitor) override {
    const DefaultFloats floats;
    if (!rounding_.fitted()) fit_rounding(rounding_, rows.view, monitor);
    rounded_.reset();
    rounded_.emplace(rounding_, kernel_, queries.view, queries.first, threads, monitor);
    filter_.start(look_up(queries.view, threads, monitor), rounding_, *rounded_, queries.first,
                  monitor);
  }
  TakenRows take_rows(const Piece& rows, int /*threads*/, Monitor& /*monitor*/) override {
    filter_.take(rows.view);
    return {filter_, rows.view.rows()};
  }
  std::string name() const override { return filter_.name(); }

 private:
  BaseRounding rounding_;
  const TileKernel& kernel_;
  std::optional<RoundedQueries> rounded_;
  LshTileFilter filter_;
};

}  // namespace

std::unique_ptr<FilterMaker> make_lsh_tiles(const LshRun& run, std::int64_t probes,
                                            MetricSpec metric, DType queries, DType rows, Isa isa) {
  const std::int64_t cols = run.functions.directions.cols();
  std::optional<BaseRounding> rounding = choose_rounding(metric, queries, rows, cols, isa);
  if (!rounding) {
    fail(ErrorCode::unsupported,
         "there are no tiles of {} for {} columns of {} and queries of {} under {}: leave out "
         "compare=tiles",
         to_string(isa), cols, to_string(rows), to_string(queries), to_string(metric));
  }
  return std::make_unique<LshTileFilterMaker>(run, probes, metric, isa, std::move(*rounding));
}

void add_lsh_tiles_to(SearchShape& shape, const LshRun& run, std::int64_t probes) {
  const std::int64_t rows = run.rows.size();
  shape.tiles = TileShape{.most_queries = kTileQueries,
                          .most_rows = rows,
                          .most_pairs = kTileQueries * rows,
                          .most_listed = kTileQueries * kMostTileRows,
                          .listed_bytes = 2 * 16,  // found by tiles, and handed on
                          .first_rows = rows,
                          .most_row_parts = 1};
  shape.query_filter_bytes =
      LshPlaces::bytes_of_a_query(run, probes) + RoundedQueries::bytes_per_query(shape.cols);
  shape.fixed_bytes += fit_bytes(shape.cols) +
                       RoundedQueries::fixed_bytes(shape.cols, shape.threads) +
                       shape.threads * (SharedList::bytes(rows, shape.base_row_bytes) +
                                        static_cast<std::int64_t>(sizeof(TileRoom)) +
                                        kMostTileRows * RoundedRows::bytes_per_row(shape.cols) +
                                        RoundedRows::fixed_bytes(shape.cols, 1) +
                                        LshPlaces::bytes_of_a_thread(run, probes));
}

}  // namespace nearfield
