// Rows are kept as codes of a trained quantizer too, and found by them: what is near by its code is
// likely to be near. Of these the nearest by their vectors are given, or codes decide alone, and
// the vectors need not be kept. Either way answers are not exact. Before there are enough rows to
// train on, all are scanned.
#include <algorithm>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "code/quantizer_memory.hpp"
#include "core/fail.hpp"
#include "core/tasks.hpp"
#include "index/coded/coded_file.hpp"
#include "index/coded/coded_filter.hpp"
#include "index/coded/coded_parameters.hpp"
#include "index/coded/coded_rows.hpp"
#include "index/coded/rerank.hpp"
#include "index/divided_parts.hpp"
#include "index/family.hpp"

namespace nearfield {
namespace {

class Coded final : public Family {
 public:
  explicit Coded(const IndexSpec& spec)
      : spec_(spec), parameters_(parse_coded(spec)), flat_(make_flat(flat_spec(spec))) {}

  // Also before there are codebooks: the rows that come then would be refused for it.
  void check_rows(MatrixView rows, const Monitor& monitor) const override {
    check_coded_values(rows, monitor);
  }

  SharedFamilyData keep(MatrixView rows, const SharedFamilyData& before,
                        const Context& context) const override {
    const SharedCodedTrained trained = trained_on({}, rows, context);
    if (trained == nullptr) return before;
    const auto coded = std::static_pointer_cast<const CodedRows>(before);
    const std::int64_t done = coded != nullptr ? coded->rows() : 0;
    return CodedRows::grown(coded, rows.slice(done, rows.rows() - done), trained, parameters_,
                            context);
  }
  bool keeps_vectors(std::int64_t rows) const override {
    return parameters_.vectors || (rows < parameters_.train && trained() == nullptr);
  }
  SharedFamilyData keep_alone(std::span<const PartView> parts, MatrixView behind,
                              const Context& context) const override {
    const SharedCodedTrained trained = trained_on(parts, behind, context);
    if (trained == nullptr) return nullptr;
    return CodedRows::grown(moved(parts, trained, context), behind, trained, parameters_, context);
  }
  SharedFamilyData keep_copied(std::span<const PartView> parts, MatrixView rows,
                               const Context& context) const override {
    const SharedCodedTrained trained = trained_on({}, rows, context);
    return trained != nullptr ? moved(parts, trained, context) : nullptr;
  }
  std::int64_t bytes_to_keep(std::int64_t rows, const SharedFamilyData& before,
                             int threads) const override {
    const auto* const coded = static_cast<const CodedRows*>(before.get());
    const std::int64_t coded_rows = coded != nullptr ? coded->rows() : 0;
    const bool trains = trained() == nullptr;
    if (rows == coded_rows || (trains && rows < parameters_.train)) return 0;
    return (trains ? bytes_to_train(threads) : 0) + bytes_to_encode(rows - coded_rows, threads) +
           CodedRows::bytes_to_grow(coded_rows, rows, parameters_);
  }
  std::int64_t bytes_to_gather(std::span<const PartView> parts, int threads) const override {
    const std::int64_t rows = live_rows(parts);
    if (!codes(rows)) return 0;
    return bytes_to_code(parts, threads) + CodedRows::bytes_to_grow(0, rows, parameters_);
  }
  std::int64_t shared_bytes() const override {
    const SharedCodedTrained trained = this->trained();
    return trained != nullptr ? trained->bytes() : 0;
  }
  std::unique_ptr<FamilyTensors> tensors(std::span<const PartView> parts, const Context& context,
                                         const Monitor& monitor) const override {
    if (parts.empty()) return nullptr;
    SharedCodedTrained trained = this->trained();
    if (trained == nullptr && codes(live_rows(parts))) {
      const PartView& largest = *std::ranges::max_element(parts, {}, &PartView::count);
      trained = trained_on({}, largest.rows(), context);
    }
    if (trained == nullptr) return nullptr;
    return coded_tensors(parts, trained, parameters_, context, monitor);
  }
  std::int64_t bytes_to_write(std::span<const PartView> parts, int threads) const override {
    const std::int64_t rows = live_rows(parts);
    if (!codes(rows)) return 0;
    return bytes_to_code(parts, threads) + CodeBlocks::bytes_for(parameters_, rows);
  }
  SharedFamilyData open(const TensorFile& file, std::int64_t rows) const override {
    const auto codes = open_coded(file, spec_, parameters_, rows);
    if (codes != nullptr) {
      const std::lock_guard lock(knowing_);
      trained_ = codes->shared_trained();
    }
    return codes;
  }
  void verify(const FamilyData& data, MatrixView rows, const std::string& path,
              const Monitor& /*monitor*/, const Context& context) const override {
    const std::int64_t chunk = std::min(rows.rows(), CodedRows::kChunkRows);
    const std::int64_t needed = bytes_to_encode(chunk, resolve_threads(context.threads)) +
                                CodeBlocks::bytes_for(parameters_, chunk);
    if (context.memory_limit && needed > *context.memory_limit) {
      fail(ErrorCode::memory_limit,
           "{}: encoding its vectors again takes {} bytes but the memory limit is {}: raise it, or "
           "use fewer threads",
           path, needed, *context.memory_limit);
    }
    verify_coded(static_cast<const CodedRows&>(data), rows, path, context);
  }

  Neighbors search(MatrixView queries, std::span<const AskedPart> parts, std::int64_t k,
                   const Context& context) const override {
    const std::vector<AskedPart> asked = divided(parts, CodedKeys::of_codes);
    if (parameters_.rerank > 0) {
      const std::int64_t chosen = std::max(parameters_.rerank, k);
      return with_unknown_recall(search_reranked(*flat_, spec_.metric, queries, asked, chosen, k,
                                                 beside_pieces(parts, asked, context)));
    }
    return with_unknown_recall(
        flat_->search(queries, asked, k, beside_pieces(parts, asked, context)));
  }
  // All rows whose codes are within the radius; of these, those that are so themselves if vectors
  // decide.
  Ranges within(MatrixView queries, std::span<const AskedPart> parts, double radius,
                const Context& context) const override {
    const CodedKeys keys = parameters_.rerank > 0 ? CodedKeys::of_rows : CodedKeys::of_codes;
    const std::vector<AskedPart> asked = divided(parts, keys);
    return with_unknown_recall(
        flat_->within(queries, asked, radius, beside_pieces(parts, asked, context)));
  }

 private:
  SharedCodedTrained trained() const {
    const std::lock_guard lock(knowing_);
    return trained_;
  }
  // Whether so many rows have codes.
  bool codes(std::int64_t rows) const { return trained() != nullptr || rows >= parameters_.train; }
  // Once for an index, on the first rows that are enough: live ones of parts, and those behind
  // them. Null before.
  SharedCodedTrained trained_on(std::span<const PartView> parts, MatrixView behind,
                                const Context& context) const {
    const std::lock_guard one(training_);
    SharedCodedTrained known = trained();
    if (known == nullptr && live_rows(parts) + behind.rows() >= parameters_.train) {
      known = train_coded(parts, behind, parameters_, context);
      const std::lock_guard lock(knowing_);
      trained_ = known;
    }
    return known;
  }
  // The codes of the live rows of parts, behind each other; null if there are none. Those of a part
  // in memory that has lost none are shared.
  std::shared_ptr<const CodedRows> moved(std::span<const PartView> parts,
                                         const SharedCodedTrained& trained,
                                         const Context& context) const {
    if (live_rows(parts) == 0) return nullptr;
    const PartView& first = parts.front();
    auto codes = std::static_pointer_cast<const CodedRows>(first.family);
    if (parts.size() == 1 && first.live == nullptr && !first.part->mapped() && codes != nullptr &&
        codes->rows() == first.count) {
      return codes;
    }
    return CodedRows::gathered(parts, trained, parameters_, context);
  }

  // With the sample, its codes, and what it becomes.
  std::int64_t bytes_to_train(int threads) const {
    const QuantizerOptions& options = parameters_.quantizer;
    const std::int64_t words = std::int64_t{options.codebooks} * parameters_.codewords();
    const std::int64_t copies = options.kind == QuantizerKind::opq ? 3 : 1;
    return 2 * parameters_.train * row_bytes(spec_.dtype, spec_.cols) +
           training_bytes(options, parameters_.train, spec_.cols, threads) +
           copies * words * spec_.cols * 4 + words * 8;
  }
  // Of a chunk: copies of its rows without those that are not finite, codes, and what these stand
  // for, of which norms are taken.
  std::int64_t bytes_to_encode(std::int64_t rows, int threads) const {
    const std::int64_t chunk = std::min(rows, CodedRows::kChunkRows);
    return encoding_bytes(parameters_.quantizer, rows, spec_.cols, threads) +
           chunk * (row_bytes(spec_.dtype, spec_.cols) + 4 * spec_.cols + 2 * 8 +
                    parameters_.columns());
  }

  // Of the rows of parts that have none; of the others codes are moved.
  std::int64_t bytes_to_code(std::span<const PartView> parts, int threads) const {
    const std::int64_t uncoded = uncoded_rows(parts);
    return (trained() == nullptr ? bytes_to_train(threads) : 0) +
           (uncoded > 0 ? bytes_to_encode(uncoded, threads) : 0);
  }

  static std::shared_ptr<const CodedRows> codes_of(const AskedPart& part) {
    return std::static_pointer_cast<const CodedRows>(part.view.family);
  }
  // Rows that are found by their codes: all, or whole words of 64, so that a bitset can be cut.
  static std::int64_t coded_rows(const AskedPart& part) {
    const auto codes = codes_of(part);
    if (codes == nullptr) return 0;
    return codes->rows() >= part.view.count ? part.view.count
                                            : codes->rows() / kScanRows * kScanRows;
  }
  // Of each part what is coded, with a finder, and the rest without; at least one of them.
  std::vector<AskedPart> divided(std::span<const AskedPart> parts, CodedKeys keys) const {
    std::vector<AskedPart> asked;
    for (const AskedPart& part : parts) {
      const std::int64_t coded = coded_rows(part);
      if (coded > 0) {
        asked.push_back(part);
        asked.back().only_rows = Range{0, coded};
        asked.back().finder =
            std::make_shared<CodedFinder>(codes_of(part), part.view, spec_.metric, keys);
      }
      if (coded > 0 && coded == part.view.count) continue;
      asked.push_back(part);
      if (coded > 0) asked.back().only_rows = Range{coded, part.view.count};
    }
    return asked;
  }

  IndexSpec spec_;
  CodedParameters parameters_;
  std::unique_ptr<Family> flat_;
  mutable std::mutex training_;  // one trains, and statistics do not wait for it
  mutable std::mutex knowing_;   // guards trained_
  mutable SharedCodedTrained trained_;
};

}  // namespace

std::unique_ptr<Family> make_coded(const IndexSpec& spec) { return std::make_unique<Coded>(spec); }

}  // namespace nearfield
