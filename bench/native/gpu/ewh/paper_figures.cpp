// Its two tables, and the work shared between CPU and device.
#include <algorithm>
#include <memory>
#include <vector>

#include "bench/native/gpu/ewh/codes.hpp"
#include "bench/native/gpu/ewh/figures.hpp"
#include "core/tasks.hpp"
#include "index/ewh/ewh_lookup.hpp"
#include "index/ewh/ewh_tables.hpp"
#include "index/ewh/gpu/ewh_device.hpp"

namespace nearfield::bench {
namespace {

// Its only setting. Weights and threshold are not in it: they are chosen.
constexpr const char* kPaper = "ewh,tables=4,bits=4";
constexpr const char* kPaperLsh = "ewh,tables=4,bits=4,errors=0,threshold=1";
constexpr std::int64_t kFound = 10;

Point paper_point(const Codes& codes, std::int64_t queries) {
  return {.queries = queries,
          .rows = codes.rows.rows(),
          .cols = kCodeBits,
          .k = queries > 0 ? kFound : 0,
          .tables = 4,
          .bits = 4};
}

std::shared_ptr<const EwhTables> made_tables(const Codes& codes, int threads) {
  const Context context;
  const Monitor monitor(context, codes.rows.rows());
  return make_ewh_tables(codes.rows, nullptr, parse_ewh(index_of_codes(kPaper)), threads, monitor);
}

void check_tables(const std::string& series, const EwhTables& made, const EwhTables& expected) {
  const auto& tables = made.runs().front()->tables;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (!std::ranges::equal(tables[i].rows(), expected.runs().front()->tables[i].rows())) {
      fail_check(series, "the tables are not those of one thread");
    }
  }
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
  const auto expected = made_tables(codes, 1);
  measuring.measure(paper_point(codes, 0), [&] {
    Contenders contenders;
    for (const auto& [series, threads] : {std::pair{"one thread", 1}, {"all threads", 0}}) {
      const auto made = std::make_shared<std::shared_ptr<const EwhTables>>();
      contenders.push_back({series, Timed::call,
                            [&codes, made, threads = resolve_threads(threads)] {
                              *made = made_tables(codes, threads);
                            },
                            [made, series = std::string(series), &expected] {
                              check_tables(series, **made, *expected);
                            }});
    }
    return contenders;
  });
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
  const PiecewiseSearch search(codes, made_tables(codes, resolve_threads(0)));
  EwhLookup thread(kCodeBits, default_isa());
  EwhDevice device(measuring.context(), measuring.context().device, kCodeBits);
  const Context context;
  const Monitor monitor(context, 1);
  const auto expected = first_of_both(search.find(thread, {0, search.rows()}, monitor), {});
  for (const std::int64_t share : {0, 2, 4, 6, 8, 12, 25, 50, 75, 100}) {
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
