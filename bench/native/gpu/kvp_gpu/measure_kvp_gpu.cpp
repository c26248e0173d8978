// The columns of a GPU of a thesis on pivots (bench/reproduce kvp-gpu runs it).
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/native/gpu/kvp_gpu/kvp_modes.hpp"
#include "bench/native/gpu/program.hpp"

namespace nearfield::bench {
namespace {

constexpr std::uint64_t kKvpRows = 2010;
constexpr std::uint64_t kKvpQueries = 1;

struct KvpSize {
  std::int64_t queries;
  std::int64_t unit;
};

KvpSize kvp_size(Size size) {
  if (size == Size::tiny) return {8, 1 << 10};
  return size == Size::quick ? KvpSize{100, 1 << 16} : KvpSize{1000, 1 << 20};
}

Contenders three_modes(const std::string& series, const std::shared_ptr<KvpOnDevice>& search,
                       const KvpPairs& expected) {
  Contenders contenders;
  for (const auto& [name, mode] : {std::pair{"filter on host", KvpMode::filter_on_host},
                                   {"no transfer", KvpMode::no_transfer},
                                   {"filter on device", KvpMode::filter_on_device}}) {
    const std::string full = series + ", " + name;
    const auto found = std::make_shared<KvpPairs>();
    contenders.push_back({full, Timed::call, [=, mode = mode] { *found = search->run(mode); },
                          [=, mode = mode, &expected] {
                            const KvpPairs none;
                            if (*found != (mode == KvpMode::no_transfer ? none : expected)) {
                              fail_check(full, "other pairs");
                            }
                          }});
  }
  return contenders;
}

void measure_point(Measuring& measuring, std::int64_t rows, std::int64_t cols) {
  const Point point{.queries = kvp_size(measuring.size()).queries, .rows = rows, .cols = cols};
  if (!measuring.has_time(point)) return;
  const KvpVectors base(rows, cols, kKvpRows);
  const KvpVectors asked(point.queries, cols, kKvpQueries);
  const std::vector<ObjectView> objects = base.views();
  std::vector<ObjectView> queries = asked.views();
  // Within the radius of a random vector there is hardly anything, and nothing to check by.
  for (std::size_t i = 0; i < queries.size(); i += 8) queries[i] = objects[i];
  KvpPairs expected;
  measuring.measure(point, [&] {
    const auto scan = std::make_shared<KvpOnDevice>(PivotOptions{.pool = 0}, objects, queries,
                                                    measuring.context());
    const auto pivots = std::make_shared<KvpOnDevice>(
        PivotOptions{.pool = kKvpPool, .kept = kKvpKept}, objects, queries, measuring.context());
    expected = pivots->on_cpu();
    Contenders contenders = three_modes("scan", scan, expected);
    for (Contender& one : three_modes("KVP", pivots, expected)) {
      contenders.push_back(std::move(one));
    }
    return contenders;
  });
}

std::vector<std::int64_t> chosen(Size size, std::vector<std::int64_t> tiny,
                                 std::vector<std::int64_t> quick, std::vector<std::int64_t> full) {
  return size == Size::tiny ? std::move(tiny) : size == Size::quick ? quick : full;
}

void measure_by_dimension(Measuring& measuring) {
  for (const std::int64_t cols : chosen(measuring.size(), {16, 32}, {16, 64, 160},
                                        {16, 32, 48, 64, 80, 96, 112, 128, 144, 160})) {
    measure_point(measuring, kvp_size(measuring.size()).unit, cols);
  }
}

void measure_by_objects(Measuring& measuring) {
  for (const std::int64_t times :
       chosen(measuring.size(), {1, 2}, {1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})) {
    measure_point(measuring, times * kvp_size(measuring.size()).unit, 16);
  }
}

}  // namespace
}  // namespace nearfield::bench

int main(int argc, char** argv) {
  using namespace nearfield::bench;
  return measure_figures("measure_kvp_gpu",
                         {{"5.1", &measure_by_dimension}, {"5.3", &measure_by_objects}}, argc,
                         argv);
}
