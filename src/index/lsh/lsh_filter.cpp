#include "index/lsh/lsh_filter.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "device/device_name.hpp"
#include "index/lsh/lsh_device.hpp"
#include "index/lsh/lsh_filter_maker.hpp"
#include "index/lsh/lsh_tile_filter.hpp"
#include "index/lsh/met_lists.hpp"
#include "index/lsh/row_marks.hpp"
#include "search/prepared_base.hpp"

namespace nearfield {
namespace {

// Listed at a time, and of a query at first: then it has a threshold, above which float32 rejects
// most rows.
constexpr std::int64_t kMostListed = 1 << 14;
constexpr std::size_t kFirstListed = 256;

// What a query has met, and gives a piece at a time.
struct ShortList {
  explicit ShortList(std::int64_t rows) : marks(rows) {}

  std::int64_t query = -1;  // whose rows from `next` on are marked; -1: nobody's
  std::int64_t next = 0;
  RowMarks marks;
  std::vector<std::uint32_t> listed;
};

class LshFilter final : public Filter {
 public:
  LshFilter(const LshRun& run, std::string name) : run_(run), name_(std::move(name)) {}

  // `first`: the number of the first query.
  void start(const LshPlaces& places, std::int64_t first, const Monitor& monitor) {
    places_ = &places;
    first_query_ = first;
    monitor_ = &monitor;
  }

  // Of one query.
  void survivors(const Block& block, std::span<const double> /*thresholds*/,
                 Candidates& out) const override {
    const std::int64_t query = block.queries.begin;
    std::unique_ptr<ShortList> list = lists_.take(
        query, block.rows.begin, [&] { return std::make_unique<ShortList>(run_.rows.size()); });
    if (list->query != query) gather(query, block.rows.begin, *list);
    const std::size_t most = block.rows.begin == 0 ? kFirstListed : kMostListed;
    list->listed.clear();
    list->listed.reserve(kMostListed);
    const bool all = list->marks.take(block.rows.end, most, list->listed);
    const std::int64_t end = all ? block.rows.end : list->listed.back() + std::int64_t{1};
    out.start_listed({block.queries, {block.rows.begin, end}}, kMostListed);
    for (const std::uint32_t row : list->listed) out.add(row);
    out.end_query();
    lists_.give_back(std::move(list), end, run_.rows.size());
  }

  bool certified() const override { return false; }
  std::string name() const override { return name_; }

 private:
  // Marks the rows of all its buckets, from `row` on.
  void gather(std::int64_t query, std::int64_t row, ShortList& list) const {
    const auto first = static_cast<std::uint32_t>(row);
    for_rows_met(run_, *places_, query - first_query_, *monitor_, [&](std::uint32_t found) {
      if (found >= first) list.marks.add(found);
    });
    list.query = query;
  }

  const LshRun& run_;
  std::string name_;
  const LshPlaces* places_ = nullptr;
  std::int64_t first_query_ = 0;
  const Monitor* monitor_ = nullptr;
  mutable MetLists<ShortList> lists_;
};

class LshPairFilterMaker final : public LshFilterMaker {
 public:
  LshPairFilterMaker(const LshRun& run, std::int64_t probes, MetricSpec metric, Isa isa)
      : LshFilterMaker(run, probes, metric, isa), filter_(run, lsh_filter_name(run, probes)) {}

  void take_queries(const Piece& queries, const Piece& /*rows*/, int threads,
                    Monitor& monitor) override {
    filter_.start(look_up(queries.view, threads, monitor), queries.first, monitor);
  }
  TakenRows take_rows(const Piece& rows, int /*threads*/, Monitor& /*monitor*/) override {
    return {filter_, rows.view.rows()};
  }
  std::string name() const override { return filter_.name(); }

 private:
  LshFilter filter_;
};

}  // namespace

std::unique_ptr<FilterMaker> LshFinder::make(DType queries, const Context& context) const {
  if (on_device(context)) {
    return LshDevice(*run_, {probes_, tiles_}, stays_, context).make(metric_, queries);
  }
  const Isa isa = isa_of(context);
  if (tiles_) return make_lsh_tiles(*run_, probes_, metric_, queries, dtype_, isa);
  return std::make_unique<LshPairFilterMaker>(*run_, probes_, metric_, isa);
}

// One query at a time, and all rows at once.
void LshFinder::add_to(SearchShape& shape, const Context& context) const {
  constexpr double kShare = 1.0 / 64;  // of the rows, that are verified: a guess
  const std::int64_t rows = run_->rows.size();
  shape.value_cost *= kShare;
  if (on_device(context)) {
    return LshDevice(*run_, {probes_, tiles_}, stays_, context).add_to(shape);
  }
  if (tiles_) return add_lsh_tiles_to(shape, *run_, probes_);
  shape.tiles = TileShape{.most_rows = rows,
                          .most_pairs = rows,
                          .most_listed = kMostListed,
                          .listed_bytes = 16,  // with a copy of its row
                          .first_rows = rows,
                          .most_row_parts = 1};
  shape.query_filter_bytes = LshPlaces::bytes_of_a_query(*run_, probes_);
  shape.fixed_bytes +=
      shape.threads * (RowMarks::bytes(rows) + LshPlaces::bytes_of_a_thread(*run_, probes_));
}

}  // namespace nearfield
