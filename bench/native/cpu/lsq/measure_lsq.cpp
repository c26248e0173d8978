// Measures the tables of a paper about local search quantization again, on this CPU:
//   measure_lsq FIGURE... --device cpu --size quick --rounds 3 --sift FOLDER
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nearfield/encode_index.hpp>
#include <nearfield/files.hpp>
#include <nearfield/index.hpp>
#include <nearfield/knn.hpp>
#include <nearfield/quantize.hpp>

#include "bench/native/cpu/descriptors.hpp"
#include "bench/native/cpu/program.hpp"
#include "cli/json.hpp"
#include "code/quantizer_state.hpp"

namespace nearfield::bench {
namespace {

using cli::JsonArray;
using cli::JsonObject;

constexpr std::int64_t kMostFound = 100;

struct LsqSettings : CpuSettings {
  std::string sift;

  int iterations() const { return size == "tiny" ? 2 : size == "quick" ? 10 : 25; }
  std::int64_t timed_vectors() const { return size == "tiny" ? 200 : 10'000; }
  std::int64_t timed_alone() const { return size == "tiny" ? 20 : 200; }
};

// Of so many bits a vector: those of lsq are one codebook fewer, and a byte of their norm.
struct Coder {
  std::string series;
  QuantizerKind kind;
  int bits;
  int rounds = 0;

  int codebooks() const { return bits / 8 - (kind == QuantizerKind::lsq ? 1 : 0); }
};

std::vector<Coder> coders(int bits) {
  return {{"PQ", QuantizerKind::pq, bits},
          {"OPQ", QuantizerKind::opq, bits},
          {"LSQ-16", QuantizerKind::lsq, bits, 16},
          {"LSQ-32", QuantizerKind::lsq, bits, 32}};
}

// The same codebooks, with other rounds of local search for a vector.
Quantizer with_rounds(const Quantizer& trained, int rounds) {
  const Quantizer::State& from = trained.state();
  auto state = std::make_shared<Quantizer::State>();
  state->options = from.options;
  state->options.rounds = rounds;
  state->seed = from.seed;
  state->errors = from.errors;
  state->coding = from.coding;
  state->rotation = from.rotation;
  return make_quantizer(std::move(state));
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A folder of its own, for indexes that are searched once.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "measure_lsq.XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no folder: " + pattern);
    folder_ = pattern;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

class LsqMeasuring {
 public:
  explicit LsqMeasuring(const LsqSettings& settings)
      : settings_(settings),
        learn_(rows_of("learn", 600, 3)),
        base_(rows_of("base", 4'000, 1)),
        queries_(rows_of("queries", 200, 2)) {}

  // Table 1 and figure 1: how often the nearest is among the first N by codes.
  void recalls() {
    const Neighbors truth = knn(queries_, base_, {.k = kMostFound});
    for (const int bits : {64, 128}) {
      for (const Coder& coder : coders(bits)) {
        const Neighbors found = search(coder);
        for (const std::int64_t n : {1, 2, 5, 10, 20, 50, 100}) {
          print_recall(fmt::format("{} bits", bits), coder.series, n, hits(found, truth, n));
        }
      }
    }
  }

  // Table 2: encoding, of many vectors together and of each alone.
  void times() {
    for (const int bits : {64, 128}) {
      for (const Coder& coder : coders(bits)) {
        const Quantizer quantizer = quantizer_of(coder, "2");
        const auto first = [&](std::int64_t count) {
          return base_.view().slice(0, std::min(count, base_.rows()));
        };
        const MatrixView many = first(settings_.timed_vectors());
        const MatrixView some = first(10 * settings_.timed_alone());
        const MatrixView few = first(settings_.timed_alone());
        const Matrix codes = quantizer.encode(many);
        time_encoding(coder, coder.series, many.rows(), [&] { quantizer.encode(many); });
        if (coder.kind != QuantizerKind::lsq) continue;
        time_encoding(coder, coder.series + ", one core", some.rows(),
                      [&] { quantizer.encode(some, {.threads = 1}); });
        time_encoding(coder, coder.series + ", one core, one by one", few.rows(), [&] {
          for (std::int64_t row = 0; row < few.rows(); ++row) {
            const Matrix alone = quantizer.encode(few.slice(row, 1), {.threads = 1});
            if (!std::equal(alone.row(0), alone.row(0) + quantizer.code_bytes(), codes.row(row))) {
              throw std::runtime_error(fmt::format("vector {} has two codes", row));
            }
          }
        });
      }
    }
  }

 private:
  Matrix rows_of(const std::string& part, std::int64_t made_up, std::uint64_t seed) const {
    if (settings_.sift.empty()) return made_up_descriptors(made_up, seed);
    return read_all(*open_rows(settings_.sift + "/" + part + ".u8bin"));
  }

  Quantizer quantizer_of(const Coder& coder, const std::string& figure) {
    const auto key = std::pair(coder.kind, coder.bits);
    auto found = trained_.find(key);
    if (found == trained_.end()) {
      QuantizerOptions options;
      options.kind = coder.kind;
      options.codebooks = coder.codebooks();
      options.iterations = settings_.iterations();
      const auto start = std::chrono::steady_clock::now();
      found = trained_.emplace(key, Quantizer::train(learn_, options)).first;
      print_note(figure, fmt::format("{} of {} codebooks: trained on {} vectors in {:.1f} s, mean "
                                     "squared error {:.0f}",
                                     to_string(coder.kind), coder.codebooks(), learn_.rows(),
                                     seconds_since(start), found->second.errors().back()));
    }
    return coder.rounds > 0 ? with_rounds(found->second, coder.rounds) : found->second;
  }

  Neighbors search(const Coder& coder) {
    const std::string path = folder_.path("codes.nf");
    encode_index(quantizer_of(coder, "1"), MatrixRows(base_), path,
                 {.byte_norms = coder.kind == QuantizerKind::lsq});
    const Neighbors found = Index::open(path).search(queries_, {.k = kMostFound});
    std::filesystem::remove(path);
    return found;
  }

  // Queries of which the nearest, or one as near, is among the first n.
  static std::int64_t hits(const Neighbors& found, const Neighbors& truth, std::int64_t n) {
    std::int64_t count = 0;
    for (std::int64_t query = 0; query < found.queries; ++query) {
      const auto first = found.ids_of(query).first(static_cast<std::size_t>(n));
      const auto keys = truth.keys_of(query);
      const auto ids = truth.ids_of(query);
      bool hit = false;
      for (std::size_t i = 0; i < keys.size() && keys[i] == keys[0] && !hit; ++i) {
        hit = std::ranges::find(first, ids[i]) != first.end();
      }
      count += hit ? 1 : 0;
    }
    return count;
  }

  void print_recall(const std::string& data, const std::string& series, std::int64_t n,
                    std::int64_t correct) const {
    print(JsonObject()
              .add("figure", "1")
              .add("data", data)
              .add("series", series)
              .add("ratio", n)
              .add("correct", correct)
              .add("wrong", queries_.rows() - correct)
              .add("none", 0)
              .add("tied", 0));
  }

  template <class Encode>
  void time_encoding(const Coder& coder, const std::string& series, std::int64_t vectors,
                     const Encode& encode) const {
    JsonArray rounds;
    for (int round = 0; round < settings_.rounds; ++round) {
      const auto start = std::chrono::steady_clock::now();
      encode();
      rounds.add_number(fmt::format("{}", seconds_since(start)));
    }
    print(JsonObject()
              .add("figure", "2")
              .add("series", series)
              .add("timed", "call")
              .add("checked", true)
              .add("n", vectors)
              .add("d", base_.cols())
              .add("codebooks", coder.codebooks())
              .add("rounds", rounds));
  }

  LsqSettings settings_;
  ScratchFolder folder_;
  Matrix learn_;
  Matrix base_;
  Matrix queries_;
  std::map<std::pair<QuantizerKind, int>, Quantizer> trained_;
};

int measure(int argc, char** argv) {
  LsqSettings settings;
  const auto figures = [&](const CpuSettings& common) -> CpuFigures {
    static_cast<CpuSettings&>(settings) = common;
    const auto measuring = std::make_shared<LsqMeasuring>(settings);
    return {{"1", [=] { measuring->recalls(); }}, {"2", [=] { measuring->times(); }}};
  };
  return measure_on_cpu("measure_lsq", argc, argv, figures, [&](CLI::App& app) {
    app.add_option("--sift", settings.sift, "Folder of the set sift-1m");
  });
}

}  // namespace
}  // namespace nearfield::bench

int main(int argc, char** argv) { return nearfield::bench::measure(argc, argv); }
