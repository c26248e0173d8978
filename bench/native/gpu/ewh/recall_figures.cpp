// What the paper leaves out: how many of the true neighbours are found, and in what time.
#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "bench/native/gpu/ewh/codes.hpp"
#include "bench/native/gpu/ewh/figures.hpp"

namespace nearfield::bench {
namespace {

constexpr std::int64_t kFirst = 1;
constexpr std::int64_t kAsked = 200;

std::int64_t found_of(const Neighbors& found, const Neighbors& truth) {
  std::int64_t count = 0;
  // One that is as near is as good.
  for (std::int64_t query = 0; query < truth.queries; ++query) {
    count += found.counts[place(query)] > 0 && found.keys_of(query)[0] == truth.keys_of(query)[0];
  }
  return count;
}

// Recall and time of an index beside those of a scan, for queries one by one and all at once.
class RecallRuns {
 public:
  RecallRuns(Measuring& measuring, const std::string& folder)
      : measuring_(measuring),
        codes_(read_codes(folder, measuring.size())),
        flat_(index_of_codes("flat")) {
    flat_.add(codes_.rows);
    queries_ = codes_.queries.view().slice(0, std::min(kAsked, codes_.queries.rows()));
    truth_ = flat_.search(queries_, {.k = kFirst});
  }

  void run(Point point, const std::string& family) {
    Index ewh(index_of_codes(family));
    ewh.add(codes_.rows);
    const Neighbors found = ewh.search(queries_, {.k = kFirst});
    const std::int64_t correct = found_of(found, truth_);
    Measuring::print(measuring_.line()
                         .add("data", family)
                         .add("series", "EWH")
                         .add("q", queries_.rows())
                         .add("n", codes_.rows.rows())
                         .add("ratio", 0)
                         .add("correct", correct)
                         .add("wrong", queries_.rows() - correct)
                         .add("tied", 0)
                         .add("none", 0));
    measuring_.note(fmt::format(
        "{}: {}, {:.0f} codes verified a query", family, found.stats.plan.filter,
        static_cast<double>(found.stats.pairs_verified) / static_cast<double>(queries_.rows())));
    point.rows = codes_.rows.rows();
    point.cols = kCodeBits;
    point.k = kFirst;
    for (const std::int64_t queries : {std::int64_t{1}, queries_.rows()}) {
      point.queries = queries;
      measuring_.measure(point, [&] { return contenders(ewh, queries_.slice(0, queries)); });
    }
  }

 private:
  Contenders contenders(const Index& ewh, MatrixView queries) const {
    Contenders contenders;
    for (const auto& [series, index] : {std::pair{"EWH", &ewh}, {"exact", &flat_}}) {
      const auto found = std::make_shared<Neighbors>();
      const Neighbors expected = index->search(queries, {.k = kFirst}, {.threads = 1});
      contenders.push_back(
          {series, Timed::call,
           [index = index, queries, found] { *found = index->search(queries, {.k = kFirst}); },
           [found, expected, series = std::string(series)] {
             if (found->ids != expected.ids) fail_check(series, "other ids");
           }});
    }
    return contenders;
  }

  Measuring& measuring_;
  Codes codes_;
  Index flat_;
  MatrixView queries_;
  Neighbors truth_;
};

}  // namespace

void measure_tables(Measuring& measuring, const std::string& folder) {
  RecallRuns runs(measuring, folder);
  for (const std::int64_t bits : {4, 8, 12, 16, 20}) {
    for (const std::int64_t tables : {1, 2, 4, 8, 16}) {
      const Point point{.tables = tables, .bits = bits};
      if (!measuring.has_time(point)) return;
      runs.run(point, fmt::format("ewh,tables={},bits={}", tables, bits));
    }
  }
}

void measure_nearness(Measuring& measuring, const std::string& folder) {
  RecallRuns runs(measuring, folder);
  for (const std::int64_t near : {8, 16, 32, 51, 64, 96, 128, 160, 192}) {
    const Point point{.near = near};
    if (!measuring.has_time(point)) return;
    runs.run(point, fmt::format("ewh,near={}", near));
  }
}

}  // namespace nearfield::bench
