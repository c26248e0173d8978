#include "index/auto/scoring_auto.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/fail.hpp"
#include "core/float_environment.hpp"
#include "filter/bits/bit_thresholds.hpp"
#include "index/auto/auto_estimate.hpp"
#include "index/auto/auto_tables.hpp"
#include "index/ewh/ewh_parameters.hpp"
#include "index/mih/mih_questions.hpp"
#include "index/stages.hpp"
#include "search/neighbor_results.hpp"
#include "search/radius.hpp"
#include "search/tiled_rows.hpp"

namespace nearfield {
namespace {

// Whether rows may be missed hangs on the estimates, and an answer may not hang on the threads of a
// search nor on what its queries are sent with: all are judged as one of so many, of one thread,
// unless the caller says how many are sent at once. A scan shares its reading among as many
// (mih_tuning.hpp).
constexpr std::int64_t kJudgedQueries = 8;
constexpr std::int64_t kMostJudgedQueries = 1'000'000'000;

std::int64_t judged_queries(const IndexSpec& spec) {
  for (const FamilyParameter& given : family_parameters(spec.family)) {
    if (given.name == "batch") return given.number(1, kMostJudgedQueries);
  }
  return kJudgedQueries;
}

// Of the family that scores. Its tables are made for the recall that is asked for.
IndexSpec scoring_spec(IndexSpec spec) {
  if (spec.dtype != DType::bits || spec.metric.metric != Metric::hamming) {
    fail(ErrorCode::invalid_argument,
         "'{}': auto finds all, and has no parameters, but for packed bits under hamming, and "
         "these are {} under {}",
         spec.family, to_string(spec.dtype), to_string(spec.metric));
  }
  std::string scoring = "ewh";
  bool asked = false;
  for (const FamilyParameter& given : family_parameters(spec.family)) {
    if (given.name == "batch") continue;
    if (given.name != "recall" && given.name != "near") {
      fail(ErrorCode::invalid_argument, "auto has no parameter '{}': it has recall, near and batch",
           given.name);
    }
    asked = asked || given.name == "recall";
    scoring += fmt::format(",{}={}", given.name, given.value);
  }
  if (!asked) {
    fail(ErrorCode::invalid_argument,
         "'{}': near and batch say where and how a recall is to be reached: give a recall, too",
         spec.family);
  }
  spec.family = std::move(scoring);
  return spec;
}

IndexSpec exact_spec(IndexSpec spec) {
  spec.family = "mih";
  return spec;
}

// The parts that are asked, with the tables of one way or the other.
class PartsByWay {
 public:
  explicit PartsByWay(std::span<const AskedPart> parts)
      : parts_(parts), own_(parts.begin(), parts.end()) {}

  std::span<const AskedPart> exact() { return with(&AutoTables::exact); }
  std::span<const AskedPart> scored() { return with(&AutoTables::scored); }
  // What is left of the limit beside them, and the lists and bits of who may be found.
  Context beside(const Context& context) const {
    std::int64_t bytes = 0;
    for (const AskedPart& part : own_) {
      bytes += static_cast<std::int64_t>(sizeof(AskedPart) +
                                         8 * (part.allowed.size() + part.listed.size()));
    }
    return with_less_memory(context, bytes);
  }

 private:
  std::span<const AskedPart> with(const SharedFamilyData& (AutoTables::*of)() const) {
    for (std::size_t i = 0; i < own_.size(); ++i) {
      const auto* const both = static_cast<const AutoTables*>(parts_[i].view.family.get());
      own_[i].view.family = both != nullptr ? (both->*of)() : nullptr;
    }
    return own_;
  }

  std::span<const AskedPart> parts_;
  std::vector<AskedPart> own_;
};

// Of the k nearest of a query, the part that is expected to be among those found.
double expected_of_query(const Neighbors& found, std::int64_t query, std::int64_t cols,
                         const EwhDivision& division) {
  const auto count = static_cast<std::size_t>(found.counts[static_cast<std::size_t>(query)]);
  if (found.k == 0) return 1;
  return division.expected_found(cols, found.keys_of(query).first(count)) /
         static_cast<double>(found.k);
}

class AutoToWrite final : public FamilyTensors {
 public:
  AutoToWrite(std::unique_ptr<FamilyTensors> exact, std::unique_ptr<FamilyTensors> scored)
      : exact_(std::move(exact)), scored_(std::move(scored)) {}

  void add_to(std::vector<TensorToWrite>& tensors) const override {
    if (exact_ != nullptr) exact_->add_to(tensors);
    if (scored_ != nullptr) scored_->add_to(tensors);
  }

 private:
  std::unique_ptr<FamilyTensors> exact_;
  std::unique_ptr<FamilyTensors> scored_;
};

class ScoringAuto final : public Family {
 public:
  explicit ScoringAuto(const IndexSpec& spec)
      : parameters_(parse_ewh(scoring_spec(spec))),
        judged_queries_(judged_queries(spec)),
        exact_(make_family(exact_spec(spec))),
        scored_(make_family(scoring_spec(spec))),
        flat_(make_flat(flat_spec(spec))) {}

  SharedFamilyData keep(MatrixView rows, const SharedFamilyData& before,
                        const Context& context) const override {
    const auto* const tables = static_cast<const AutoTables*>(before.get());
    SharedFamilyData exact =
        exact_->keep(rows, tables != nullptr ? tables->exact() : nullptr, context);
    SharedFamilyData scored =
        scored_->keep(rows, tables != nullptr ? tables->scored() : nullptr, context);
    return together(std::move(exact), std::move(scored), before);
  }
  std::int64_t bytes_to_keep(std::int64_t rows, const SharedFamilyData& before,
                             int threads) const override {
    const auto* const tables = static_cast<const AutoTables*>(before.get());
    return exact_->bytes_to_keep(rows, tables != nullptr ? tables->exact() : nullptr, threads) +
           scored_->bytes_to_keep(rows, tables != nullptr ? tables->scored() : nullptr, threads);
  }
  std::unique_ptr<FamilyTensors> tensors(std::span<const PartView> parts, const Context& context,
                                         const Monitor& monitor) const override {
    return std::make_unique<AutoToWrite>(exact_->tensors(parts, context, monitor),
                                         scored_->tensors(parts, context, monitor));
  }
  std::int64_t bytes_to_write(std::span<const PartView> parts, int threads) const override {
    return std::max(exact_->bytes_to_write(parts, threads),
                    scored_->bytes_to_write(parts, threads));
  }
  SharedFamilyData open(const TensorFile& file, std::int64_t rows) const override {
    return together(exact_->open(file, rows), scored_->open(file, rows), nullptr);
  }
  void verify(const FamilyData& data, MatrixView rows, const std::string& path,
              const Monitor& monitor, const Context& context) const override {
    const auto& tables = static_cast<const AutoTables&>(data);
    if (tables.exact() != nullptr) exact_->verify(*tables.exact(), rows, path, monitor, context);
    if (tables.scored() != nullptr) scored_->verify(*tables.scored(), rows, path, monitor, context);
  }

  void check_build_device(const Context& context) const override {
    exact_->check_build_device(context);
  }
  Neighbors search(MatrixView queries, std::span<const AskedPart> parts, std::int64_t k,
                   const Context& context) const override;
  Ranges within(MatrixView queries, std::span<const AskedPart> parts, double radius,
                const Context& context) const override;

 private:
  static SharedFamilyData together(SharedFamilyData exact, SharedFamilyData scored,
                                   const SharedFamilyData& before) {
    if (exact == nullptr && scored == nullptr) return nullptr;
    const auto* const tables = static_cast<const AutoTables*>(before.get());
    if (tables != nullptr && tables->exact() == exact && tables->scored() == scored) return before;
    return std::make_shared<const AutoTables>(std::move(exact), std::move(scored));
  }

  // Scans queries that have found less than is asked for.
  void complete(MatrixView queries, PartsByWay& by_way, const EwhDivision& division,
                const Context& context, Neighbors& found) const;

  EwhParameters parameters_;
  std::int64_t judged_queries_;
  std::unique_ptr<Family> exact_;
  std::unique_ptr<Family> scored_;
  std::unique_ptr<Family> flat_;
};

// How far the k nearest are is not known. How far those are that scores lead to tells which part of
// the nearest is expected to be among them: a query for which that is too small is scanned. So
// scores may not take more than lookups may spend in vain, nor more than lookups as far as those
// rows that the caller calls near.
Neighbors ScoringAuto::search(MatrixView queries, std::span<const AskedPart> parts, std::int64_t k,
                              const Context& context) const {
  PartsByWay by_way(parts);
  const Context own = by_way.beside(context);
  if (queries.rows() == 0 || !as_the_rows(queries, parts)) {
    return exact_->search(queries, by_way.exact(), k, own);
  }
  const DefaultFloats floats;
  AutoEstimate estimate = estimate_exact(by_way.exact(), judged_queries_, parameters_.near);
  const EwhDivision division(by_way.scored());
  add_scores(division, queries.cols(), estimate);
  const bool pays = estimate.scores && k > 0 && k < division.scored_rows &&
                    *estimate.scores < std::min(estimate.lookups, kSpentInVain * estimate.scan);
  Neighbors found;
  if (pays) {
    const std::int64_t pairs = queries.rows() * (division.scored_rows + division.scanned_rows);
    Stages stages(own, 2 * pairs);
    found = scored_->search(queries, by_way.scored(), k, stages.context());
    stages.end_stage(pairs);
    if (!found.exact) complete(queries, by_way, division, stages.context(), found);
    stages.finish(context);
  } else {
    found = exact_->search(queries, by_way.exact(), k, own);
  }
  estimate.explain(found.stats.plan);
  return found;
}

void ScoringAuto::complete(MatrixView queries, PartsByWay& by_way, const EwhDivision& division,
                           const Context& context, Neighbors& found) const {
  std::vector<std::int64_t> left;
  double expected = 0;
  for (std::int64_t query = 0; query < queries.rows(); ++query) {
    const double of_query = expected_of_query(found, query, queries.cols(), division);
    if (of_query < parameters_.recall) left.push_back(query);
    expected += of_query < parameters_.recall ? 1 : of_query;
  }
  if (left.empty()) return;
  const Matrix rows = read_all(PickedRows(MatrixRows(queries), left));
  const std::int64_t held =
      result_bytes(found.queries, found.k) + std::ssize(left) * rows.stride_bytes();
  const Neighbors scanned =
      flat_->search(rows, by_way.exact(), found.k, with_less_memory(context, held));
  put_results(left, scanned, found);
  found.exact = std::ssize(left) == queries.rows();
  found.stats.pairs_considered += scanned.stats.pairs_considered;
  found.stats.seconds += scanned.stats.seconds;
  Plan& plan = found.stats.plan;
  if (found.exact) plan = scanned.stats.plan;
  plan.expected_recall = expected / static_cast<double>(queries.rows());
  plan.note += fmt::format("{}{} of {} queries were scanned: scores found nothing near enough",
                           plan.note.empty() ? "" : "; ", left.size(), queries.rows());
}

Ranges ScoringAuto::within(MatrixView queries, std::span<const AskedPart> parts, double radius,
                           const Context& context) const {
  PartsByWay by_way(parts);
  const Context own = by_way.beside(context);
  const DefaultFloats floats;
  if (queries.rows() == 0 || !as_the_rows(queries, parts)) {
    return exact_->within(queries, by_way.exact(), radius, own);
  }
  const std::int64_t bits =
      most_differing(Radius(Metric::hamming, radius).largest_key(), queries.cols());
  if (bits < 0) return exact_->within(queries, by_way.exact(), radius, own);
  AutoEstimate estimate = estimate_exact(by_way.exact(), judged_queries_, bits);
  add_scores(EwhDivision(by_way.scored()), queries.cols(), estimate);
  const bool pays =
      estimate.scores && estimate.recall >= parameters_.recall && *estimate.scores < estimate.exact;
  Ranges found = pays ? scored_->within(queries, by_way.scored(), radius, own)
                      : exact_->within(queries, by_way.exact(), radius, own);
  estimate.explain(found.stats.plan);
  return found;
}

}  // namespace

std::unique_ptr<Family> make_scoring_auto(const IndexSpec& spec) {
  return std::make_unique<ScoringAuto>(spec);
}

}  // namespace nearfield
