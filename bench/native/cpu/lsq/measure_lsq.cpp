// Measures the tables of a paper about local search quantization again, on this CPU and, where one
// is named, on a device:
//   measure_lsq FIGURE... --device cpu --size quick --rounds 3 --sift FOLDER --sift-10m FOLDER
#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nearfield/files.hpp>
#include <nearfield/knn.hpp>
#include <nearfield/quantize.hpp>

#include "bench/native/cpu/descriptors.hpp"
#include "bench/native/cpu/lsq/coders.hpp"
#include "bench/native/cpu/lsq/recall.hpp"
#include "bench/native/cpu/program.hpp"
#include "cli/json.hpp"

namespace nearfield::bench {
namespace {

using cli::JsonArray;
using cli::JsonObject;

constexpr std::array<std::int64_t, 7> kFirst{1, 2, 5, 10, 20, 50, 100};

struct LsqSettings : CpuSettings {
  std::string sift;
  std::string sift_10m;
  std::string keep;

  int iterations() const { return size == "tiny" ? 2 : size == "quick" ? 10 : 25; }
  std::int64_t timed_vectors() const { return size == "tiny" ? 200 : 10'000; }
  std::int64_t timed_alone() const { return size == "tiny" ? 20 : 200; }
  // Least squares of 15 codebooks take seconds an iteration, whatever the vectors.
  std::vector<int> bits_of_errors() const {
    return size == "tiny" ? std::vector{64} : std::vector{64, 128};
  }
};

std::vector<Coder> coders(int bits) {
  return {{"PQ", QuantizerKind::pq, bits},
          {"OPQ", QuantizerKind::opq, bits},
          {"LSQ-16", QuantizerKind::lsq, bits, 16},
          {"LSQ-32", QuantizerKind::lsq, bits, 32}};
}

// Queries of a kind.
struct Asked {
  std::string kind;
  MatrixView queries;
  Neighbors truth{};
  std::map<std::int64_t, std::vector<bool>> before{};  // by n: the hits of the coder before
};

class LsqMeasuring {
 public:
  explicit LsqMeasuring(const LsqSettings& settings)
      : settings_(settings), folder_(settings.keep) {}

  // Table 1 and figure 1: how often the nearest is among the first N by codes.
  void recalls(const std::string& figure, const std::string& set, const std::vector<int>& sizes) {
    const Descriptors& descriptors = descriptors_of(set);
    const CodedSet coded(descriptors, folder_, settings_.iterations(), figure);
    std::vector<Asked> asked{{"", descriptors.strangers()}, {", views", descriptors.queries}};
    for (Asked& each : asked) each.truth = knn(each.queries, descriptors.base, {.k = kMostFound});
    for (const int bits : sizes) {
      for (Asked& each : asked) each.before.clear();
      for (const Coder& coder : coders(bits)) {
        const Index index = coded.index_of(coder);
        for (Asked& each : asked) {
          const Neighbors found = index.search(each.queries, {.k = kMostFound});
          const std::string data = fmt::format("{} bits{}", bits, each.kind);
          for (const std::int64_t n : kFirst) {
            std::vector<bool> hits = hits_of(found, each.truth, n);
            print_recall(figure, data, coder, n, hits, each.before[n]);
            each.before[n] = std::move(hits);
          }
        }
      }
    }
  }

  // Table 2: encoding, of many vectors together and of each alone.
  void times() {
    const Descriptors& descriptors = descriptors_of("sift-1m");
    const CodedSet coded(descriptors, folder_, settings_.iterations(), "2");
    const auto first = [&](std::int64_t count) {
      return descriptors.base.view().slice(0, std::min(count, descriptors.base.rows()));
    };
    const MatrixView many = first(settings_.timed_vectors());
    for (const int bits : {64, 128}) {
      for (const Coder& coder : coders(bits)) {
        const Quantizer quantizer = coded.quantizer(coder);
        const Matrix codes = quantizer.encode(many);
        time_encoding(coder, "", many, codes, [&] { return quantizer.encode(many); });
        if (coder.kind != QuantizerKind::lsq) continue;
        const Context alone{.threads = 1};
        const MatrixView some = first(10 * settings_.timed_alone());
        time_encoding(coder, ", one core", some, codes,
                      [&] { return quantizer.encode(some, alone); });
        const MatrixView few = first(settings_.timed_alone());
        time_encoding(coder, ", one core, one by one", few, codes, [&] {
          Matrix all(DType::u8, few.rows(), codes.cols());
          for (std::int64_t row = 0; row < few.rows(); ++row) {
            const Matrix one = quantizer.encode(few.slice(row, 1), alone);
            std::copy_n(one.row(0), one.cols(), all.row(row));
          }
          return all;
        });
        if (settings_.device == "cpu") continue;
        const Context there{.device = settings_.device};
        quantizer.encode(many, there);  // kernels are made ready before the clock runs
        time_encoding(coder, ", on the device", many, codes,
                      [&] { return quantizer.encode(many, there); });
      }
    }
  }

  // Mean squared errors: of what is learned from, by iterations; of the base, by rounds.
  void errors() {
    const Descriptors& descriptors = descriptors_of("sift-1m");
    const CodedSet coded(descriptors, folder_, settings_.iterations(), "errors");
    const MatrixView some = descriptors.base.view().slice(
        0, std::min(settings_.timed_vectors(), descriptors.base.rows()));
    for (const int bits : settings_.bits_of_errors()) {
      const std::string training = fmt::format("training, {} bits", bits);
      for (const Coder& coder :
           {Coder{"OPQ", QuantizerKind::opq, bits},
            Coder{"LSQ", QuantizerKind::lsq, bits, 0, Relaxation::none},
            Coder{"LSQ++, noise on codebooks", QuantizerKind::lsq, bits, 0, Relaxation::codebooks},
            Coder{"LSQ++, noise on rows", QuantizerKind::lsq, bits, 0, Relaxation::rows}}) {
        const Quantizer trained = coded.quantizer(coder);
        int iteration = 0;
        for (const double error : trained.errors()) {
          print_error(training, coder.series, ++iteration, error);
        }
      }
      const std::string encoding = fmt::format("encoding, {} bits", bits);
      for (const int rounds : {1, 2, 4, 8, 16, 32}) {
        for (const Coder& coder :
             {Coder{"PQ", QuantizerKind::pq, bits}, Coder{"OPQ", QuantizerKind::opq, bits},
              Coder{"LSQ", QuantizerKind::lsq, bits, rounds}}) {
          print_error(encoding, coder.series, rounds, mean_error(coded.quantizer(coder), some));
        }
      }
    }
  }

 private:
  // Read once.
  const Descriptors& descriptors_of(const std::string& set) {
    const auto [at, is_new] = sets_.try_emplace(set);
    if (!is_new) return at->second;
    const std::string& folder = set == "sift-1m" ? settings_.sift : settings_.sift_10m;
    const auto rows = [&](const char* part, std::int64_t made_up, std::uint64_t seed) {
      return folder.empty() ? made_up_descriptors(made_up, seed)
                            : read_all(*open_rows(fmt::format("{}/{}.u8bin", folder, part)));
    };
    // Those that are made up are the same, and their quantizers too.
    at->second = {folder.empty() ? "made-up" : set, rows("learn", 600, 3), rows("base", 4'000, 1),
                  rows("queries", 200, 2)};
    return at->second;
  }

  static double mean_error(const Quantizer& quantizer, MatrixView rows) {
    const auto errors = quantizer.squared_errors(rows, quantizer.encode(rows));
    return std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(errors.size());
  }

  // Codes of the first rows, by two ways.
  static void check_same(const Matrix& codes, const Matrix& expected) {
    for (std::int64_t row = 0; row < codes.rows(); ++row) {
      if (!std::equal(codes.row(row), codes.row(row) + codes.cols(), expected.row(row))) {
        throw std::runtime_error(fmt::format("vector {} has two codes", row));
      }
    }
  }

  // before: the hits of the coder before, empty for the first.
  static void print_recall(const std::string& figure, const std::string& data, const Coder& coder,
                           std::int64_t n, const std::vector<bool>& hits,
                           const std::vector<bool>& before) {
    const std::int64_t correct = std::ranges::count(hits, true);
    JsonObject line;
    line.add("figure", figure)
        .add("data", data)
        .add("series", coder.series)
        .add("ratio", n)
        .add("correct", correct)
        .add("wrong", std::ssize(hits) - correct)
        .add("none", 0)
        .add("tied", 0);
    if (!before.empty()) {
      line.add("gained", hits_beyond(hits, before)).add("lost", hits_beyond(before, hits));
    }
    print(line);
  }

  static void print_error(const std::string& data, const std::string& series, int x, double error) {
    print(JsonObject()
              .add("figure", "errors")
              .add("data", data)
              .add("series", series)
              .add("x", x)
              .add("error", error));
  }

  // expected: codes of these vectors, and maybe of more behind them. Compared beside the clock.
  template <class Encode>
  void time_encoding(const Coder& coder, const std::string& how, MatrixView vectors,
                     const Matrix& expected, const Encode& encode) const {
    JsonArray rounds;
    for (int round = 0; round < settings_.rounds; ++round) {
      const auto start = std::chrono::steady_clock::now();
      const Matrix codes = encode();
      rounds.add_number(fmt::format("{}", seconds_since(start)));
      check_same(codes, expected);
    }
    print(JsonObject()
              .add("figure", "2")
              .add("series", coder.series + how)
              .add("timed", "call")
              .add("checked", true)
              .add("n", vectors.rows())
              .add("d", vectors.cols())
              .add("codebooks", coder.codebooks())
              .add("rounds", rounds));
  }

  LsqSettings settings_;
  WorkFolder folder_;
  std::map<std::string, Descriptors> sets_;
};

int measure(int argc, char** argv) {
  LsqSettings settings;
  const auto figures = [&](const CpuSettings& common) -> CpuFigures {
    static_cast<CpuSettings&>(settings) = common;
    const auto measuring = std::make_shared<LsqMeasuring>(settings);
    return {{"1",
             [=] {
               measuring->recalls("1", "sift-1m", {64, 128});
             }},
            {"2", [=] { measuring->times(); }},
            {"errors", [=] { measuring->errors(); }},
            {"large-64", [=] { measuring->recalls("large-64", "sift-10m", {64}); }},
            {"large-128", [=] { measuring->recalls("large-128", "sift-10m", {128}); }}};
  };
  const auto add_options = [&](CLI::App& app) {
    app.add_option("--sift", settings.sift, "Folder of the set sift-1m");
    app.add_option("--sift-10m", settings.sift_10m, "Folder of the set sift-10m");
    app.add_option("--keep", settings.keep,
                   "Keep quantizers and codes in this folder, and go on with what is there");
  };
  return measure_on_cpu("measure_lsq", argc, argv, figures, add_options, DeviceToo::yes);
}

}  // namespace
}  // namespace nearfield::bench

int main(int argc, char** argv) { return nearfield::bench::measure(argc, argv); }
