// Measures the figures of locality-sensitive hashing of a thesis about matching SIFT on this CPU:
//   measure_lsh_sift FIGURE... --device cpu --size quick --rounds 3 --sift FOLDER
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nearfield/index.hpp>
#include <nearfield/knn.hpp>
#include <nearfield/tune_index.hpp>

#include "bench/native/cpu/lsh_sift/iterations.hpp"
#include "bench/native/cpu/lsh_sift/sift_set.hpp"
#include "bench/native/cpu/program.hpp"
#include "cli/json.hpp"

namespace nearfield::bench {
namespace {

using cli::JsonArray;
using cli::JsonObject;

constexpr double kRecall = 0.8;
constexpr double kBudget = 4;  // seconds

struct LshSettings : CpuSettings {
  std::string sift;

  std::vector<int> bits() const {
    if (size == "tiny") return {8, 10};
    if (size == "quick") return {12, 16, 20};
    return {14, 16, 18, 19, 20, 21, 22, 24, 27};
  }
  std::int64_t most_iterations() const { return size == "full" ? 4'000 : 500; }
  std::int64_t timed_iterations() const { return size == "full" ? 4 : 2; }
};

// A number of bits, with all that is measured of it.
struct BitsMeasured {
  RecallCurves curves;
  std::vector<StageSeconds> rounds;  // of an iteration
};

class LshMeasuring {
 public:
  explicit LshMeasuring(const LshSettings& settings)
      : settings_(settings), set_(read_sift_set(settings.sift)) {}

  // 5.14, 5.15: what is found within four seconds.
  void recall_in_time() {
    for (const int bits : settings_.bits()) {
      const BitsMeasured& measured = of(bits);
      const double each = best(measured).total();
      const auto iterations = std::max<std::int64_t>(static_cast<std::int64_t>(kBudget / each), 1);
      for (std::size_t i = 0; i < kPrecisions.size(); ++i) {
        const std::vector<double>& curve = measured.curves[i];
        const auto at = std::min<std::size_t>(static_cast<std::size_t>(iterations), curve.size());
        print_recall("5.14", fmt::format("{} bits, {} iterations in {} s", bits, at, kBudget),
                     kPrecisions[i], curve[at - 1]);
      }
    }
  }

  // 5.16 to 5.18: how long a recall of 0.8 takes, and how many iterations.
  void time_to_recall() {
    for (const int bits : settings_.bits()) {
      const BitsMeasured& measured = of(bits);
      for (std::size_t i = 0; i < kPrecisions.size(); ++i) {
        const std::int64_t iterations = iterations_to(measured.curves[i], kRecall);
        if (iterations == 0) {
          print_note("5.16", fmt::format("{} bits, {}: not reached in {} iterations", bits,
                                         kPrecisions[i], measured.curves[i].size()));
          continue;
        }
        print_times("5.16", kPrecisions[i], bits, iterations, measured.rounds,
                    [](const StageSeconds& stages) { return stages.total(); });
      }
    }
  }

  // Table 5.14, at the number of bits that is fastest.
  void time_by_stage() {
    for (const std::size_t precision : {std::size_t{0}, std::size_t{2}}) {
      const int bits = fastest_bits(precision);
      if (bits == 0) continue;
      const BitsMeasured& measured = of(bits);
      const std::int64_t iterations = iterations_to(measured.curves[precision], kRecall);
      const auto print_stage = [&](const char* stage, double StageSeconds::*seconds) {
        print_times("stages", fmt::format("{}: {}", kPrecisions[precision], stage), bits,
                    iterations, measured.rounds,
                    [&](const StageSeconds& stages) { return stages.*seconds; });
      };
      print_times("stages", fmt::format("{}: all", kPrecisions[precision]), bits, iterations,
                  measured.rounds, [](const StageSeconds& stages) { return stages.total(); });
      print_stage("short list", &StageSeconds::short_list);
      print_stage("table", &StageSeconds::table);
      print_stage("hash rows", &StageSeconds::hash_rows);
      print_stage("hash queries", &StageSeconds::hash_queries);
      print_stage("lookup", &StageSeconds::lookup);
    }
  }

  // Ours: an index that is tuned to the recall, and the exact search.
  void tuned() {
    for (const std::int64_t k : {1, 10, 100}) {
      const MatrixRows base(set_.base);
      const Matrix none(DType::u8, 0, set_.base.cols());
      IndexSpec spec{.family = "lsh", .dtype = DType::u8, .cols = set_.base.cols()};
      spec.family = tune_index(spec, base, MatrixRows(none), {.recall = kRecall, .k = k}).family;
      Index index(spec);
      index.add(set_.base);
      std::vector<double> seconds;
      std::vector<double> exact;
      Neighbors found;
      for (int round = 0; round < settings_.rounds; ++round) {
        found = index.search(set_.queries, {.k = k});
        seconds.push_back(found.stats.seconds);
        exact.push_back(knn(set_.queries, set_.base, {.k = k}).stats.seconds);
      }
      const double pairs = static_cast<double>(set_.queries.rows() * set_.base.rows());
      print_note("tuned",
                 fmt::format("k {}: {}, {:.4f} % of the rows looked at", k, spec.family,
                             100 * static_cast<double>(found.stats.pairs_verified) / pairs));
      print_line("tuned", "lsh, tuned", k, 0, 0, seconds);
      print_line("tuned", "exact scan", k, 0, 0, exact);
      print_recall("tuned", fmt::format("k {}", k), "lsh, tuned", recall_of(found));
    }
  }

 private:
  const BitsMeasured& of(int bits) {
    const auto [at, fresh] = measured_.try_emplace(bits);
    if (!fresh) return at->second;
    at->second.curves = follow_recall(set_, bits, kRecall, settings_.most_iterations());
    for (int round = 0; round < settings_.rounds; ++round) {
      at->second.rounds.push_back(time_iteration(
          set_, bits, true, static_cast<std::uint64_t>(round), settings_.timed_iterations()));
    }
    return at->second;
  }

  static StageSeconds best(const BitsMeasured& measured) {
    return *std::ranges::min_element(measured.rounds, {}, &StageSeconds::total);
  }

  int fastest_bits(std::size_t precision) {
    int fastest = 0;
    double least = 0;
    for (const int bits : settings_.bits()) {
      const BitsMeasured& measured = of(bits);
      const double seconds =
          static_cast<double>(iterations_to(measured.curves[precision], kRecall)) *
          best(measured).total();
      if (seconds > 0 && (fastest == 0 || seconds < least)) {
        fastest = bits;
        least = seconds;
      }
    }
    return fastest;
  }

  double recall_of(const Neighbors& found) const {
    std::int64_t there = 0;
    for (std::int64_t query = 0; query < found.queries; ++query) {
      const double last = set_.truth.keys_of(query)[static_cast<std::size_t>(found.k - 1)];
      for (const double key : found.keys_of(query)) there += key <= last ? 1 : 0;  // ties too
    }
    return static_cast<double>(there) / static_cast<double>(found.queries * found.k);
  }

  void print_times(const std::string& figure, const std::string& series, int bits,
                   std::int64_t iterations, const std::vector<StageSeconds>& rounds,
                   const std::function<double(const StageSeconds&)>& seconds) const {
    std::vector<double> times;
    for (const StageSeconds& round : rounds) {
      times.push_back(static_cast<double>(iterations) * seconds(round));
    }
    print_line(figure, series, 0, bits, iterations, times);
  }

  void print_line(const std::string& figure, const std::string& series, std::int64_t k, int bits,
                  std::int64_t tables, const std::vector<double>& seconds) const {
    JsonArray rounds;
    for (const double second : seconds) rounds.add_number(fmt::format("{}", second));
    print(JsonObject()
              .add("figure", figure)
              .add("series", series)
              .add("timed", "call")
              .add("checked", true)
              .add("q", set_.queries.rows())
              .add("n", set_.base.rows())
              .add("d", set_.base.cols())
              .add("k", k)
              .add("bits", bits)
              .add("tables", tables)
              .add("rounds", rounds));
  }

  void print_recall(const std::string& figure, const std::string& data, const std::string& series,
                    double recall) const {
    constexpr double kOf = 10'000;
    const auto correct = static_cast<std::int64_t>(kOf * recall + 0.5);
    print(JsonObject()
              .add("figure", figure)
              .add("data", data)
              .add("series", series)
              .add("ratio", 0)
              .add("correct", correct)
              .add("wrong", static_cast<std::int64_t>(kOf) - correct)
              .add("none", 0)
              .add("tied", 0));
  }

  LshSettings settings_;
  SiftSet set_;
  std::map<int, BitsMeasured> measured_;
};

int measure(int argc, char** argv) {
  LshSettings settings;
  const auto figures = [&](const CpuSettings& given) -> CpuFigures {
    static_cast<CpuSettings&>(settings) = given;
    const auto measuring = std::make_shared<LshMeasuring>(settings);
    return {{"5.14", [=] { measuring->recall_in_time(); }},
            {"5.16", [=] { measuring->time_to_recall(); }},
            {"stages", [=] { measuring->time_by_stage(); }},
            {"tuned", [=] { measuring->tuned(); }}};
  };
  return measure_on_cpu("measure_lsh_sift", argc, argv, figures, [&](CLI::App& app) {
    app.add_option("--sift", settings.sift, "Folder of the set sift-1m");
  });
}

}  // namespace
}  // namespace nearfield::bench

int main(int argc, char** argv) { return nearfield::bench::measure(argc, argv); }
