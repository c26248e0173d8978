// Its two tables, and the work shared between CPU and device.
#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "bench/native/gpu/ewh/codes.hpp"
#include "bench/native/gpu/ewh/figures.hpp"
#include "core/tasks.hpp"
#include "hash/table_maker.hpp"
#include "index/ewh/ewh_lookup.hpp"
#include "index/ewh/ewh_tables.hpp"
#include "index/ewh/gpu/ewh_device.hpp"

namespace nearfield::bench {
namespace {

// Its only setting. Weights and threshold are not in it: they are chosen.
constexpr const char* kPaper = "ewh,tables=4,bits=4";
constexpr const char* kPaperLsh = "ewh,tables=4,bits=4,errors=0,threshold=1";
constexpr std::int64_t kFound = 10;
// Of the CPU, in percent, around the paper's 6.
constexpr std::array<std::int64_t, 10> kShares{0, 2, 4, 6, 8, 12, 25, 50, 75, 100};

Point paper_point(const Codes& codes, std::int64_t queries) {
  return {.queries = queries,
          .rows = codes.rows.rows(),
          .cols = kCodeBits,
          .k = queries > 0 ? kFound : 0,
          .tables = 4,
          .bits = 4};
}

std::shared_ptr<const EwhTables> made_tables(const Codes& codes, const Context& context) {
  const Monitor monitor(context, codes.rows.rows());
  TableMaker maker(context, kCodeBits);
  return make_ewh_tables(codes.rows, nullptr, parse_ewh(index_of_codes(kPaper)), maker, monitor);
}

void check_tables(const std::string& series, std::span<const BucketView> made,
                  const EwhTables& expected) {
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (!std::ranges::equal(made[i].rows(), expected.runs().front()->tables[i].rows())) {
      fail_check(series, "the tables are not those of one thread");
    }
  }
}

// The tables of some of the rows, by whoever the context names.
std::vector<BucketTable> tables_of(const EwhRun& like, MatrixView rows, const Context& context) {
  const Monitor monitor(context, 1);
  TableMaker maker(context, kCodeBits);
  std::vector<BucketTable> tables;
  for (std::int64_t table = 0; table < like.shape.tables; ++table) {
    tables.push_back(maker.make(rows, like.positions_of(table), nullptr, monitor));
  }
  return tables;
}

std::vector<BucketTable> joined_tables(std::vector<BucketTable>& first,
                                       std::vector<BucketTable>& second) {
  if (first.empty()) return std::move(second);
  if (second.empty()) return std::move(first);
  std::vector<BucketTable> joined;
  for (std::size_t i = 0; i < first.size(); ++i) {
    std::vector<BucketTable> pieces;
    pieces.push_back(std::move(first[i]));
    pieces.push_back(std::move(second[i]));
    joined.emplace_back(pieces);
  }
  return joined;
}

// The first k of a run, by a worker of its own for each piece.
class PiecewiseSearch {
 public:
  PiecewiseSearch(const Codes& codes, std::shared_ptr<const EwhTables> tables)
      : codes_(codes), tables_(std::move(tables)), ids_(place(codes.rows.rows())) {
    for (std::int64_t i = 0; i < std::ssize(ids_); ++i) ids_[place(i)] = i;
  }

  std::vector<Neighbor> find(EwhWorker& worker, Range piece, const Monitor& monitor) const {
    NearestGoal goal(kFound, kCodeBits, ids_, kCodeBits);
    const EwhAsking asking{codes_.queries.row(0), &goal};
    const auto& run = *tables_->runs().front();
    worker.find({&asking, 1}, {&run, codes_.rows.view().slice(0, run.rows.size()), {}}, piece,
                monitor);
    return {goal.found().begin(), goal.found().end()};
  }

  std::int64_t rows() const { return tables_->rows(); }

 private:
  const Codes& codes_;
  std::shared_ptr<const EwhTables> tables_;
  std::vector<std::int64_t> ids_;
};

std::vector<Neighbor> first_of_both(std::vector<Neighbor> a, const std::vector<Neighbor>& b) {
  a.insert(a.end(), b.begin(), b.end());
  std::ranges::sort(a, std::less<>());
  a.resize(std::min(a.size(), place(kFound)));
  return a;
}

}  // namespace

void measure_hashing(Measuring& measuring, const std::string& folder) {
  const Codes codes = read_codes(folder, measuring.size());
  const auto expected = made_tables(codes, {.threads = 1});
  const std::string device = measuring.context().device;
  measuring.measure(paper_point(codes, 0), [&] {
    Contenders contenders;
    const auto add = [&](const char* series, const Context& context) {
      const auto made = std::make_shared<std::shared_ptr<const EwhTables>>();
      contenders.push_back({series, Timed::call,
                            [&codes, made, context] { *made = made_tables(codes, context); },
                            [made, series, &expected] {
                              check_tables(series, (*made)->runs().front()->tables, *expected);
                            }});
    };
    add("one thread", {.threads = 1});
    add("all threads", {});
    add("device", {.device = device});
    add("device and CPU", {.device = device + ",cpu"});
    return contenders;
  });
}

// Of the rows the CPU has a share, on one thread, and the device the rest.
void measure_hashing_shares(Measuring& measuring, const std::string& folder) {
  const Codes codes = read_codes(folder, measuring.size());
  const auto expected = made_tables(codes, {.threads = 1});
  const EwhRun& run = *expected->runs().front();
  const std::int64_t rows = expected->rows();
  for (const std::int64_t share : kShares) {
    Point point = paper_point(codes, 0);
    point.share = share;
    const std::int64_t cut = rows * share / 100;
    measuring.measure(point, [&] {
      const auto made = std::make_shared<std::vector<BucketTable>>();
      return Contenders{{"tables, shared", Timed::call,
                         [&, cut, made] {
                           std::vector<BucketTable> of_device;
                           std::vector<BucketTable> of_thread;
                           Background beside([&] {
                             if (cut == rows) return;
                             of_device = tables_of(run, codes.rows.view().slice(cut, rows - cut),
                                                   {.device = measuring.context().device});
                           });
                           if (cut > 0) {
                             of_thread =
                                 tables_of(run, codes.rows.view().slice(0, cut), {.threads = 1});
                           }
                           beside.wait();
                           *made = joined_tables(of_thread, of_device);
                         },
                         [made, &expected] {
                           std::vector<BucketView> views;
                           for (const BucketTable& table : *made) views.push_back(table.view());
                           check_tables("tables, shared", views, *expected);
                         }}};
    });
  }
}

void measure_retrieval(Measuring& measuring, const std::string& folder) {
  const Codes codes = read_codes(folder, measuring.size());
  Index ewh(index_of_codes(kPaper));
  Index lsh(index_of_codes(kPaperLsh));
  Index flat(index_of_codes("flat"));
  for (Index* const index : {&ewh, &lsh, &flat}) index->add(codes.rows);
  const MatrixView query = codes.queries.view().slice(0, 1);
  const std::string device = measuring.context().device;
  measuring.measure(paper_point(codes, 1), [&] {
    Contenders contenders;
    const auto add = [&](const char* series, const Index& index, const Context& context) {
      const auto found = std::make_shared<Neighbors>();
      const Neighbors expected = index.search(query, {.k = kFound}, {.threads = 1});
      contenders.push_back({series, Timed::call,
                            [&index, query, context, found] {
                              *found = index.search(query, {.k = kFound}, context);
                            },
                            [found, expected, series] {
                              if (found->ids != expected.ids) fail_check(series, "other ids");
                            }});
    };
    add("LSH, one thread", lsh, {.threads = 1});
    add("EWH, one thread", ewh, {.threads = 1});
    add("EWH, all threads", ewh, {});
    add("EWH, device", ewh, {.device = device});
    add("EWH, device and CPU", ewh, {.device = device + ",cpu"});
    add("exact, one thread", flat, {.threads = 1});
    add("exact, all threads", flat, {});
    return contenders;
  });
}

// One query, of whose rows the CPU has a share, on one thread, and the device the rest.
void measure_shares(Measuring& measuring, const std::string& folder) {
  const Codes codes = read_codes(folder, measuring.size());
  const PiecewiseSearch search(codes, made_tables(codes, {}));
  EwhLookup thread(kCodeBits, default_isa());
  EwhDevice device(measuring.context(), measuring.context().device, kCodeBits);
  const Context context;
  const Monitor monitor(context, 1);
  const auto expected = first_of_both(search.find(thread, {0, search.rows()}, monitor), {});
  for (const std::int64_t share : kShares) {
    Point point = paper_point(codes, 1);
    point.share = share;
    const std::int64_t cut = search.rows() * share / 100;
    measuring.measure(point, [&] {
      const auto found = std::make_shared<std::vector<Neighbor>>();
      return Contenders{
          {"EWH, shared", Timed::call,
           [&, cut, found] {
             std::vector<Neighbor> of_device;
             Background beside([&] {
               if (cut < search.rows()) {
                 of_device = search.find(device, {cut, search.rows()}, monitor);
               }
             });
             const std::vector<Neighbor> of_thread = search.find(thread, {0, cut}, monitor);
             beside.wait();
             *found = first_of_both(of_device, of_thread);
           },
           [found, &expected] {
             if (*found != expected) fail_check("EWH, shared", "other neighbours");
           }}};
    });
  }
}

}  // namespace nearfield::bench
