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

#include "bench/native/cpu/lsh_sift/beside_scan.hpp"
#include "bench/native/cpu/lsh_sift/iterations.hpp"
#include "bench/native/cpu/lsh_sift/lines.hpp"
#include "bench/native/cpu/lsh_sift/planted_bytes.hpp"
#include "bench/native/cpu/lsh_sift/sift_set.hpp"
#include "bench/native/cpu/program.hpp"

namespace nearfield::bench {
namespace {

constexpr double kRecall = 0.8;
constexpr double kBudget = 4;  // seconds
constexpr std::int64_t kPlantedQueries = 1'000;
constexpr std::uint64_t kAskedSeed = 3;
constexpr std::uint64_t kTuningSeed = 4;

struct LshSettings : CpuSettings {
  std::string sift;

  std::vector<int> bits() const {
    if (size == "tiny") return {8, 10};
    if (size == "quick") return {12, 16, 20};
    return {14, 16, 18, 19, 20, 21, 22, 24, 27};
  }
  std::int64_t most_iterations() const { return size == "full" ? 4'000 : 500; }
  std::int64_t timed_iterations() const { return size == "full" ? 4 : 2; }

  std::vector<std::int64_t> percents() const {
    if (size == "tiny") return {50, 80};
    return {50, 60, 70, 80, 90, 95, 98};
  }
  std::vector<std::int64_t> planted_rows() const {
    if (size == "tiny") return {4'000, 8'000};
    if (size == "quick") return {20'000, 100'000};
    return {100'000, 1'000'000, 4'000'000};
  }
  std::vector<std::int64_t> planted_cols() const {
    if (size == "tiny") return {16, 32};
    if (size == "quick") return {32, 128};
    return {32, 128, 512};
  }
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
        print_iterations("5.16", kPrecisions[i], bits, iterations, measured.rounds,
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
        print_iterations("stages", fmt::format("{}: {}", kPrecisions[precision], stage), bits,
                         iterations, measured.rounds,
                         [&](const StageSeconds& stages) { return stages.*seconds; });
      };
      print_iterations("stages", fmt::format("{}: all", kPrecisions[precision]), bits, iterations,
                       measured.rounds, [](const StageSeconds& stages) { return stages.total(); });
      print_stage("short list", &StageSeconds::short_list);
      print_stage("short list, by tiles", &StageSeconds::tiles);
      print_stage("table", &StageSeconds::table);
      print_stage("hash rows", &StageSeconds::hash_rows);
      print_stage("hash queries", &StageSeconds::hash_queries);
      print_stage("lookup", &StageSeconds::lookup);
    }
  }

  // Ours: indexes that are tuned, and the exact search. The recall by k, then by what is asked for.
  void tuned() {
    const Matrix none(DType::u8, 0, set_.base.cols());
    const BesideScan beside(set_.base, set_.queries, none, settings_.rounds);
    for (const std::int64_t k : {1, 10, 100}) {
      beside.measure({.figure = "tuned", .data = fmt::format("k {}", k), .k = k});
    }
  }
  void recall_and_time() {
    const Matrix none(DType::u8, 0, set_.base.cols());
    const BesideScan beside(set_.base, set_.queries, none, settings_.rounds);
    for (const std::int64_t percent : settings_.percents()) {
      beside.measure(
          {.figure = "curve", .data = fmt::format("asked, {} %", percent), .percent = percent});
    }
  }

  // Where it wins: by how many rows there are, and how many columns they have.
  void by_rows_and_cols() {
    for (const std::int64_t rows : settings_.planted_rows()) {
      for (const std::int64_t cols : settings_.planted_cols()) {
        const PlantedBytes planted(rows, cols);
        const Matrix queries = planted.queries(kPlantedQueries, kAskedSeed);
        const Matrix others = planted.queries(kPlantedQueries, kTuningSeed);
        BesideScan(planted.rows(), queries, others, settings_.rounds)
            .measure({.figure = "where", .data = fmt::format("{} x {}", rows, cols)});
      }
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

  // Of so many iterations.
  void print_iterations(const std::string& figure, const std::string& series, int bits,
                        std::int64_t iterations, const std::vector<StageSeconds>& rounds,
                        const std::function<double(const StageSeconds&)>& seconds) const {
    std::vector<double> times;
    for (const StageSeconds& round : rounds) {
      times.push_back(static_cast<double>(iterations) * seconds(round));
    }
    print_times(figure, series,
                {.queries = set_.queries.rows(),
                 .rows = set_.base.rows(),
                 .cols = set_.base.cols(),
                 .bits = bits,
                 .tables = iterations},
                times);
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
            {"tuned", [=] { measuring->tuned(); }},
            {"curve", [=] { measuring->recall_and_time(); }},
            {"where", [=] { measuring->by_rows_and_cols(); }}};
  };
  return measure_on_cpu("measure_lsh_sift", argc, argv, figures, [&](CLI::App& app) {
    app.add_option("--sift", settings.sift, "Folder of the set sift-1m");
  });
}

}  // namespace
}  // namespace nearfield::bench

int main(int argc, char** argv) { return nearfield::bench::measure(argc, argv); }
