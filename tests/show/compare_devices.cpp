// select_k and pairwise on a device against the CPU, to the bit:
//   compare_devices DEVICE
// Prints the number of configurations and of those that differ; exits 1 if any does.
#include <bit>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <nearfield/nearfield.hpp>

#include "core/random.hpp"
#include "tests/oracle/data.hpp"

namespace nearfield {
namespace {

enum class Values { random, ties, descending, ascending, all_equal, no_number };
constexpr Values kValues[] = {Values::random,    Values::ties,      Values::descending,
                              Values::ascending, Values::all_equal, Values::no_number};

double value_at(Values kind, std::int64_t i, Random& random) {
  constexpr double kAwkward[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1, -1, 1e-42};
  switch (kind) {
    case Values::random:
      return random.normal();
    case Values::ties:
      return kAwkward[random.below(std::ssize(kAwkward))];
    case Values::descending:
      return static_cast<double>(-i);
    case Values::ascending:
      return static_cast<double>(i);
    case Values::all_equal:
      return 4;
    default:
      return NAN;
  }
}

class Comparison {
 public:
  explicit Comparison(std::string device) { device_.device = std::move(device); }

  void count(bool same, const std::string& what) {
    ++configurations_;
    if (same) return;
    ++different_;
    std::printf("different: %s\n", what.c_str());
  }

  template <class T>
  void select(std::int64_t rows, std::int64_t cols, Values kind) {
    Random random(static_cast<std::uint64_t>(cols));
    std::vector<T> values;
    std::vector<std::int64_t> ids;
    for (std::int64_t i = 0; i < rows * cols; ++i) {
      values.push_back(static_cast<T>(value_at(kind, i % cols, random)));
    }
    for (std::int64_t i = 0; i < cols; ++i) ids.push_back(random.below(cols / 2 + 1) - 3);
    for (const std::int64_t k : {std::int64_t{1}, std::int64_t{2}, std::int64_t{100},
                                 std::int64_t{2048}, std::int64_t{10'000}, cols}) {
      for (const bool largest : {false, true}) {
        for (const bool with_ids : {false, true}) {
          SelectOptions options;
          options.k = k;
          options.largest = largest;
          if (with_ids) options.ids = ids;
          const ValuesView view(values.data(), rows, cols);
          const Selected want = select_k(view, options);
          const Selected got = select_k(view, options, device_);
          count(got.ids == want.ids && got.values == want.values && got.counts == want.counts,
                "select_k " + std::to_string(rows) + " x " + std::to_string(cols) + ", k " +
                    std::to_string(k) + ", values " + std::to_string(static_cast<int>(kind)) +
                    (largest ? ", largest" : "") + (with_ids ? ", ids" : "") +
                    (sizeof(T) == 8 ? ", f64" : ", f32"));
        }
      }
    }
  }

  void pairwise_keys(MetricSpec metric, DType dtype, data::Kind kind, std::int64_t cols) {
    const Matrix queries = data::make_matrix({kind, dtype, 19, cols, 1});
    const Matrix rows = data::make_matrix({kind, dtype, 70, cols, 2});
    for (const bool keys : {true, false}) {
      const Pairwise want = pairwise(queries, rows, {metric, keys});
      const Pairwise got = pairwise(queries, rows, {metric, keys}, device_);
      bool same = got.values.size() == want.values.size();
      for (std::size_t i = 0; same && i < want.values.size(); ++i) {
        same = std::bit_cast<std::uint64_t>(got.values[i]) ==
                   std::bit_cast<std::uint64_t>(want.values[i]) ||
               (std::isnan(got.values[i]) && std::isnan(want.values[i]));
      }
      count(same, "pairwise " + got.stats.plan.kernel + ", " + std::string(data::to_string(kind)) +
                      ", " + std::to_string(cols) + " columns");
    }
  }

  int report() const {
    std::printf("%s: %lld configurations, %lld differ from cpu\n", device_.device.c_str(),
                static_cast<long long>(configurations_), static_cast<long long>(different_));
    return different_ == 0 ? 0 : 1;
  }

 private:
  Context device_;
  std::int64_t configurations_ = 0;
  std::int64_t different_ = 0;
};

int compare(const std::string& device) {
  Comparison comparison(device);
  for (const std::int64_t rows : {1, 5}) {
    for (const std::int64_t cols : {1, 33, 1'000, 12'345}) {
      for (const Values kind : kValues) {
        comparison.select<float>(rows, cols, kind);
        comparison.select<double>(rows, cols, kind);
      }
    }
  }
  for (const MetricInfo& metric : metrics()) {
    const bool bits = metric.input == MetricInput::bits;
    for (const double p : metric.needs_p ? std::vector{3.0, 1.5, 0.7} : std::vector{0.0}) {
      for (const DType dtype : bits ? std::vector{DType::bits}
                                    : std::vector{DType::f64, DType::f32, DType::f16, DType::bf16,
                                                  DType::u8, DType::i8}) {
        for (const data::Kind kind : data::kinds()) {
          for (const std::int64_t cols : {1, 100}) {
            comparison.pairwise_keys({metric.metric, p}, dtype, kind, cols);
          }
        }
      }
    }
  }
  return comparison.report();
}

}  // namespace
}  // namespace nearfield

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: compare_devices DEVICE\n");
    return 2;
  }
  return nearfield::compare(argv[1]);
} catch (const std::exception& error) {
  std::fprintf(stderr, "compare_devices: %s\n", error.what());
  return 2;
}
