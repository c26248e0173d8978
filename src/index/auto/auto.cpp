// The family that fits what is kept. Packed bits under hamming have the tables of `mih`, which
// looks up or scans, whichever is estimated to take less for a search; everything else is scanned.
// The plan of a search says what was estimated. All of them are exact, unless a recall is asked
// for: see scoring_auto.hpp.
#include <memory>
#include <span>
#include <string>

#include "filter/bits/bit_thresholds.hpp"
#include "index/auto/auto_estimate.hpp"
#include "index/auto/scoring_auto.hpp"
#include "index/family.hpp"
#include "search/radius.hpp"

namespace nearfield {
namespace {

bool has_lookups(const IndexSpec& spec) {
  return spec.dtype == DType::bits && spec.metric.metric == Metric::hamming;
}

std::unique_ptr<Family> fitting_family(IndexSpec spec) {
  spec.family = has_lookups(spec) ? "mih" : "flat";
  return make_family(spec);
}

class ExactAuto final : public Family {
 public:
  explicit ExactAuto(const IndexSpec& spec)
      : has_lookups_(has_lookups(spec)), fitting_(fitting_family(spec)) {}

  SharedFamilyData keep(MatrixView rows, const SharedFamilyData& before,
                        const Context& context) const override {
    return fitting_->keep(rows, before, context);
  }
  std::int64_t bytes_to_keep(std::int64_t rows, const SharedFamilyData& before,
                             int threads) const override {
    return fitting_->bytes_to_keep(rows, before, threads);
  }
  std::unique_ptr<FamilyTensors> tensors(std::span<const PartView> parts, const Context& context,
                                         const Monitor& monitor) const override {
    return fitting_->tensors(parts, context, monitor);
  }
  std::int64_t bytes_to_write(std::span<const PartView> parts, int threads) const override {
    return fitting_->bytes_to_write(parts, threads);
  }
  SharedFamilyData open(const TensorFile& file, std::int64_t rows) const override {
    return fitting_->open(file, rows);
  }
  void verify(const FamilyData& data, MatrixView rows, const std::string& path,
              const Monitor& monitor, const Context& context) const override {
    fitting_->verify(data, rows, path, monitor, context);
  }

  void check_build_device(const Context& context) const override {
    fitting_->check_build_device(context);
  }
  Neighbors search(MatrixView queries, std::span<const AskedPart> parts, std::int64_t k,
                   const Context& context) const override {
    Neighbors found = fitting_->search(queries, parts, k, context);
    if (has_lookups_) estimate_exact(parts, queries.rows(), {}).explain(found.stats.plan);
    return found;
  }
  Ranges within(MatrixView queries, std::span<const AskedPart> parts, double radius,
                const Context& context) const override {
    Ranges found = fitting_->within(queries, parts, radius, context);
    if (has_lookups_) {
      const std::int64_t bits =
          most_differing(Radius(Metric::hamming, radius).largest_key(), queries.cols());
      estimate_exact(parts, queries.rows(), bits).explain(found.stats.plan);
    }
    return found;
  }

 private:
  bool has_lookups_;
  std::unique_ptr<Family> fitting_;
};

}  // namespace

std::unique_ptr<Family> make_auto(const IndexSpec& spec) {
  if (family_parameters(spec.family).empty()) return std::make_unique<ExactAuto>(spec);
  return make_scoring_auto(spec);
}

}  // namespace nearfield
