#include "bench/native/cpu/lsq/coders.hpp"

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <nearfield/encode_index.hpp>

#include "bench/native/cpu/program.hpp"
#include "code/quantizer_state.hpp"

namespace nearfield::bench {
namespace {

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

std::filesystem::path scratch_folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "measure_lsq.XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no folder: " + pattern);
  return pattern;
}

}  // namespace

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

WorkFolder::WorkFolder(const std::string& kept)
    : stays_(!kept.empty()), folder_(stays_ ? std::filesystem::path(kept) : scratch_folder()) {
  std::filesystem::create_directories(folder_);
}

WorkFolder::~WorkFolder() {
  if (stays_) return;
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

// With all that codebooks depend on: a folder that stays may be of an earlier program.
std::string CodedSet::path(const std::string& name) const {
  return folder_.path(fmt::format("{}-{}-{}-{}", descriptors_.name,
                                  descriptors_.trained_on().rows(), iterations_, name));
}

Quantizer CodedSet::trained(const Coder& coder) const {
  QuantizerOptions options;
  options.kind = coder.kind;
  options.codebooks = coder.codebooks();
  options.iterations = iterations_;
  options.relaxation = coder.relaxation;
  const std::string file = path(fmt::format("{}-{}-{}.safetensors", to_string(coder.kind),
                                            coder.codebooks(), to_string(coder.relaxation)));
  if (std::filesystem::exists(file)) return Quantizer::open(file);
  TrainOptions training;
  if (coder.kind == QuantizerKind::lsq) training.checkpoint = file + ".part";
  const auto start = std::chrono::steady_clock::now();
  Quantizer quantizer = Quantizer::train(descriptors_.trained_on(), options, {}, training);
  print_note(figure_,
             fmt::format("{} of {} codebooks: trained on {} vectors in {:.1f} s, mean "
                         "squared error {:.0f}",
                         to_string(coder.kind), coder.codebooks(), descriptors_.trained_on().rows(),
                         seconds_since(start), quantizer.errors().back()));
  quantizer.save(file);
  if (!training.checkpoint.empty()) std::filesystem::remove(training.checkpoint);
  return quantizer;
}

Quantizer CodedSet::quantizer(const Coder& coder) const {
  Quantizer quantizer = trained(coder);
  return coder.rounds > 0 ? with_rounds(quantizer, coder.rounds) : quantizer;
}

Index CodedSet::index_of(const Coder& coder) const {
  const std::string file = path(fmt::format("{}-{}.nf", coder.series, coder.bits));
  if (!std::filesystem::exists(file)) {
    const Quantizer coding = quantizer(coder);
    const auto start = std::chrono::steady_clock::now();
    const std::int64_t before = encode_index(coding, MatrixRows(descriptors_.base), file,
                                             {.byte_norms = coder.kind == QuantizerKind::lsq});
    print_note(figure_,
               fmt::format("{} of {} bits: {} vectors encoded in {:.1f} s", coder.series,
                           coder.bits, descriptors_.base.rows() - before, seconds_since(start)));
  }
  Index opened = Index::open(file);
  if (!folder_.stays()) std::filesystem::remove(file);  // what is mapped stays
  return opened;
}

}  // namespace nearfield::bench
