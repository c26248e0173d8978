// Searches on a device against the CPU, keys included, to the bit:
//   compare_device_searches DEVICE [METRIC]
// Prints the number of configurations of each search and of those that differ; exits 1 if any does.
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nearfield/nearfield.hpp>

#include "search/plan.hpp"
#include "tests/oracle/data.hpp"

namespace nearfield {
namespace {

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

bool same(const Neighbors& a, const Neighbors& b) {
  return a.queries == b.queries && a.k == b.k && a.exact == b.exact && a.ids == b.ids &&
         a.counts == b.counts && same_bits(a.keys, b.keys) && same_bits(a.distances, b.distances);
}

bool same(const Ranges& a, const Ranges& b) {
  return a.offsets == b.offsets && a.ids == b.ids && same_bits(a.keys, b.keys) &&
         same_bits(a.distances, b.distances);
}

bool same(const Pairs& a, const Pairs& b) {
  return a.first == b.first && a.second == b.second && same_bits(a.keys, b.keys) &&
         same_bits(a.distances, b.distances);
}

// What is searched.
struct Setting {
  MetricSpec metric;
  DType dtype;
  data::Kind kind;
  std::int64_t cols;
};

class Comparison {
 public:
  explicit Comparison(std::string device) { device_.device = std::move(device); }

  // The k nearest four times, of one query once, and of the other searches one.
  void run(const Setting& setting) {
    // More rows than are looked at before there are thresholds; where memory is short, in chunks.
    base_ = data::make_matrix({setting.kind, setting.dtype, kRows, setting.cols, 2});
    queries_ = data::make_matrix({setting.kind, setting.dtype, 37, setting.cols, 1});
    few_ = data::make_matrix({setting.kind, setting.dtype, 180, setting.cols, 3});
    device_.device_memory_limit.reset();
    if (settings_ % 3 == 0) device_.device_memory_limit = 256 << 10;
    device_.threads = static_cast<int>(settings_ % 2);  // one, or all
    default_tuning().device.least_half_cols = 1;        // by products, wherever they apply
    for (const std::int64_t k : {1, 2, 10, 300}) {
      // Another one for each k, and for the same k from setting to setting.
      const auto turn = static_cast<std::size_t>(searches_++ + settings_);
      default_tuning().device.method = kMethods.at(turn % kMethods.size());
      compare("knn", setting,
              [&](const Context& c) { return knn(queries_, base_, knn_of(setting, k), c); });
    }
    default_tuning().device.method =
        kMethods.at(static_cast<std::size_t>(settings_) % kMethods.size());
    compare("knn of one query", setting, [&](const Context& c) {
      return knn(queries_.view().slice(0, 1), base_, knn_of(setting, 10), c);
    });
    default_tuning().device.method.reset();
    run_another(setting, settings_++ % 5);
  }

  int report() const {
    std::int64_t differ = 0;
    for (const auto& [what, count] : counts_) {
      fmt::print("{}, {}: {} configurations, {} differ from cpu\n", device_.device, what, count.all,
                 count.different);
      differ += count.different;
    }
    return differ == 0 ? 0 : 1;
  }

 private:
  struct Count {
    std::int64_t all = 0;
    std::int64_t different = 0;
  };

  static constexpr std::int64_t kRows = 900;
  // The one of the chooser, and each of those that it would not choose; one that does not apply is
  // as none.
  static constexpr std::array<std::optional<DeviceMethod>, 4> kMethods = {
      std::nullopt, DeviceMethod::fused, DeviceMethod::keys, DeviceMethod::bytes};

  static KnnOptions knn_of(const Setting& setting, std::int64_t k) {
    KnnOptions options;
    options.metric = setting.metric;
    options.k = k;
    return options;
  }

  void run_another(const Setting& setting, std::int64_t which) {
    switch (which) {
      case 0:
        return compare_filtered(setting);
      case 1:
        return compare_within(setting);
      case 2:
        return compare("graph", setting, [&](const Context& c) {
          GraphOptions options;
          options.metric = setting.metric;
          return graph(few_, options, c);
        });
      case 3:
        return compare("pairs", setting, [&](const Context& c) {
          PairsOptions options;
          options.metric = setting.metric;
          options.count = 40;
          return pairs(few_, options, c);
        });
      default:
        compare_match(setting);
        return compare("mutual", setting, [&](const Context& c) {
          MutualOptions options;
          options.metric = setting.metric;
          return mutual(queries_, few_, options, c);
        });
    }
  }

  // Of distances, for which the tests are made.
  void compare_match(const Setting& setting) {
    MatchOptions options;
    options.metric = setting.metric;
    options.ratio = 0.95;
    const bool squares = setting.metric == MetricSpec(Metric::sqeuclidean);
    if (squares || info(setting.metric).reported == Reported::similarity) return;
    compare("match", setting, [&](const Context& c) { return match(queries_, few_, options, c); });
  }

  void compare_filtered(const Setting& setting) {
    std::vector<std::uint64_t> words;
    for (std::uint64_t i = 0; i < kRows / 64 + 1; ++i) words.push_back(0x123456789ABCDEF * (i + 1));
    words.back() &= (std::uint64_t{1} << kRows % 64) - 1;
    KnnOptions options = knn_of(setting, 10);
    options.filter = RowFilter::bitset(words);
    compare("knn of some rows", setting,
            [&](const Context& c) { return knn(queries_, base_, options, c); });
  }

  // As far as the tenth of the first query.
  void compare_within(const Setting& setting) {
    const Neighbors near = knn(queries_, base_, knn_of(setting, 10));
    WithinOptions options;
    options.metric = setting.metric;
    options.radius = std::isfinite(near.distances.at(9)) ? near.distances.at(9) : 1;
    compare("within", setting,
            [&](const Context& c) { return within(queries_, base_, options, c); });
  }

  template <class Search>
  void compare(const std::string& what, const Setting& setting, const Search& search) {
    const auto want = search(Context{});
    const auto got = search(device_);
    Count& count = counts_[what];
    ++count.all;
    if (same(got, want) && got.stats.plan.device.starts_with(device_.device)) return;
    ++count.different;
    fmt::print("different: {}, {}, {}, {}, {} columns, on {} by {}\n", what,
               to_string(setting.metric), to_string(setting.dtype), data::to_string(setting.kind),
               setting.cols, got.stats.plan.device, got.stats.plan.filter);
  }

  Context device_;
  Matrix base_;
  Matrix queries_;
  Matrix few_;
  std::int64_t settings_ = 0;
  std::int64_t searches_ = 0;
  std::map<std::string, Count> counts_;
};

int compare(const std::string& device, const std::string& only) {
  Comparison comparison(device);
  std::size_t next = 0;
  for (const MetricInfo& metric : metrics()) {
    if (!only.empty() && metric.name != only) continue;
    const bool bits = metric.input == MetricInput::bits;
    for (const double p : metric.needs_p ? std::vector{3.0, 0.7} : std::vector{0.0}) {
      for (const DType dtype : bits ? std::vector{DType::bits}
                                    : std::vector{DType::f64, DType::f32, DType::f16, DType::bf16,
                                                  DType::u8, DType::i8}) {
        for (const data::Kind kind : data::kinds()) {
          constexpr std::int64_t kCols[] = {3, 70, 200};
          comparison.run({{metric.metric, p}, dtype, kind, kCols[next++ % 3]});
        }
      }
    }
  }
  return comparison.report();
}

}  // namespace
}  // namespace nearfield

int main(int argc, char** argv) try {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: compare_device_searches DEVICE [METRIC]\n");
    return 2;
  }
  return nearfield::compare(argv[1], argc == 3 ? argv[2] : "");
} catch (const std::exception& error) {
  std::fprintf(stderr, "compare_device_searches: %s\n", error.what());
  return 2;
}
