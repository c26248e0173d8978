#include "object/text_metrics.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nearfield/object_metrics.hpp>

#include "core/infinity.hpp"
#include "object/edit_distance.hpp"
#include "object/edit_kernel.hpp"
#include "object/letter_signatures.hpp"
#include "object/symbols.hpp"

namespace nearfield {
namespace {

// Beyond any distance of texts.
constexpr std::int64_t kAnyDistance = std::int64_t{1} << 52;

std::int64_t whole_limit(double limit) {
  return limit < static_cast<double>(kAnyDistance) ? static_cast<std::int64_t>(limit)
                                                   : kAnyDistance;
}

class TextMetric : public ObjectMetric {
 public:
  bool whole_numbers() const override { return true; }
  std::shared_ptr<const ObjectSignatures> fit_signatures(
      std::span<const ObjectView> sample) const override {
    return LetterSignatures::fitted(sample);
  }
  std::shared_ptr<const ObjectSignatures> signatures(
      std::span<const std::byte> state) const override {
    return LetterSignatures::of_state(state);
  }
};

// A text against others: short ones of ASCII go to a kernel, several at a time; others one by one.
class EditsOfOne {
 public:
  EditsOfOne(ObjectView from, double limit, Isa isa)
      : symbols_(symbols_of(from)),
        short_(!symbols_.empty() && std::ssize(symbols_) <= kMostKernelText),
        limit_(limit),
        kernels_(edit_kernels(isa)) {}

  // At most kMost of them. Those of about one length go together: a kernel is done with some when
  // it is with the longest.
  static constexpr std::size_t kMost = 256;
  void run(std::span<const ObjectView> to, std::span<double> out) {
    for (const std::uint8_t number : by_size(to)) {
      const ObjectView text = to[number];
      if (short_ && std::ssize(text) <= kMostKernelText && texts_.add(text)) {
        numbers_[static_cast<std::size_t>(texts_.count() - 1)] = number;
        if (texts_.count() == PackedTexts::kMost) run_kernel(out);
      } else {
        if (!pattern_) pattern_.emplace(symbols_);
        out[number] =
            static_cast<double>(pattern_->distance(symbols_of(text), whole_limit(limit_)));
      }
    }
    run_kernel(out);
  }

 private:
  std::span<const std::uint8_t> by_size(std::span<const ObjectView> texts) {
    std::array<std::size_t, kMostKernelText + 2> next{};
    const auto bucket = [](ObjectView text) {
      return std::min<std::size_t>(text.size(), kMostKernelText + 1);
    };
    for (const ObjectView text : texts) ++next[bucket(text)];
    std::size_t place = 0;
    for (std::size_t& one : next) place += std::exchange(one, place);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      order_[next[bucket(texts[i])]++] = static_cast<std::uint8_t>(i);
    }
    return std::span(order_).first(texts.size());
  }

  void run_kernel(std::span<double> out) {
    if (texts_.count() == 0) return;  // perhaps of a query that is too long for it
    kernels_.distances({symbols_, texts_, limit_, distances_.data()});
    for (std::size_t i = 0; i < static_cast<std::size_t>(texts_.count()); ++i) {
      out[numbers_[i]] = static_cast<double>(distances_[i]);
    }
    texts_.clear();
  }

  std::vector<char32_t> symbols_;
  bool short_;
  double limit_;
  const EditKernels& kernels_;
  std::optional<EditPattern> pattern_;  // for those that go one by one
  PackedTexts texts_;
  std::array<std::uint8_t, kMost> order_;
  std::array<std::uint8_t, PackedTexts::kMost> numbers_;
  std::array<std::uint8_t, PackedTexts::kMost> distances_;
};

class EditMetric final : public TextMetric {
 public:
  std::string name() const override { return "edit"; }

  void distances(ObjectView from, std::span<const ObjectView> to, double limit, Isa isa,
                 std::span<double> out) const override {
    EditsOfOne edits(from, limit, isa);
    for (std::size_t first = 0; first < to.size(); first += EditsOfOne::kMost) {
      const std::size_t count = std::min(EditsOfOne::kMost, to.size() - first);
      edits.run(to.subspan(first, count), out.subspan(first, count));
    }
  }
};

class DamerauMetric final : public TextMetric {
 public:
  std::string name() const override { return "damerau"; }

  void distances(ObjectView from, std::span<const ObjectView> to, double /*limit*/, Isa /*isa*/,
                 std::span<double> out) const override {
    const std::vector<char32_t> symbols = symbols_of(from);
    for (std::size_t i = 0; i < to.size(); ++i) {
      out[i] = static_cast<double>(damerau_distance(symbols, symbols_of(to[i])));
    }
  }
};

double one_distance(const ObjectMetric& metric, std::string_view a, std::string_view b) {
  const ObjectView to = ObjectBytes<std::string>::bytes(b);
  double distance = 0;
  metric.distances(ObjectBytes<std::string>::bytes(a), std::span(&to, 1), kInfinity, default_isa(),
                   std::span(&distance, 1));
  return distance;
}

}  // namespace

std::shared_ptr<const ObjectMetric> edit_metric() { return std::make_shared<EditMetric>(); }
std::shared_ptr<const ObjectMetric> damerau_metric() { return std::make_shared<DamerauMetric>(); }

bool is_edit_metric(const ObjectMetric& metric) {
  return dynamic_cast<const EditMetric*>(&metric) != nullptr;
}

double EditDistance::operator()(std::string_view a, std::string_view b) const {
  return one_distance(EditMetric(), a, b);
}
std::shared_ptr<const ObjectMetric> EditDistance::compiled() { return edit_metric(); }

double DamerauDistance::operator()(std::string_view a, std::string_view b) const {
  return one_distance(DamerauMetric(), a, b);
}
std::shared_ptr<const ObjectMetric> DamerauDistance::compiled() { return damerau_metric(); }

}  // namespace nearfield
